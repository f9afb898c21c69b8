#include "analyzer/export/exchanges.h"

#include <errno.h>
#include <stdlib.h>

static bool is_message(const struct gw_collective *collective)
{
    return collective->kind == GW_COMM_SEND || collective->kind == GW_COMM_RECV;
}

static void add_collective(struct gw_exchanges *exchanges, const struct gw_model *model, uint32_t index)
{
    const struct gw_collective *collective = &model->collectives[index];
    const uint32_t op = collective->op;
    if (exchanges->count[op]++ == 0)
        exchanges->first[op] = index;
    const struct gw_collective *first = &model->collectives[exchanges->first[op]];
    exchanges->mixed[op] |= collective != first && (!is_message(first) || !is_message(collective) ||
                                                    first->size_bytes != collective->size_bytes);
    const uint64_t arrived_ns = collective->arrival_wait_ns == GW_TIME_UNKNOWN || collective->match == GW_NONE
                                    ? GW_TIME_UNKNOWN /* later than any */
                                    : model->ops[op].start_ns + collective->arrival_wait_ns;
    if (arrived_ns > exchanges->arrived_ns[op])
        exchanges->arrived_ns[op] = arrived_ns;
}

int gw_exchanges_init(struct gw_exchanges *ret_exchanges, const struct gw_model *model)
{
    *ret_exchanges = (struct gw_exchanges){0};
    if (!model->collectives_count)
        return 0;
    ret_exchanges->first = malloc((model->ops_count + 1) * sizeof(uint32_t));
    ret_exchanges->count = calloc(model->ops_count + 1, sizeof(uint32_t));
    ret_exchanges->arrived_ns = calloc(model->ops_count + 1, sizeof(uint64_t));
    ret_exchanges->mixed = calloc(model->ops_count + 1, sizeof(bool));
    if (!ret_exchanges->first || !ret_exchanges->count || !ret_exchanges->arrived_ns || !ret_exchanges->mixed)
        return -ENOMEM;
    for (size_t i = 0; i < model->ops_count; i++)
        ret_exchanges->first[i] = GW_NONE;
    for (uint32_t i = 0; i < model->collectives_count; i++) {
        if (model->collectives[i].op != GW_NONE)
            add_collective(ret_exchanges, model, i);
    }
    return 0;
}

void gw_exchanges_release(struct gw_exchanges *exchanges)
{
    free(exchanges->first);
    free(exchanges->count);
    free(exchanges->arrived_ns);
    free(exchanges->mixed);
    *exchanges = (struct gw_exchanges){0};
}

const struct gw_collective *gw_exchanges_of_op(const struct gw_exchanges *exchanges, const struct gw_model *model,
                                               uint32_t op, uint32_t *ret_count)
{
    if (!exchanges->first || exchanges->first[op] == GW_NONE)
        return NULL;
    *ret_count = exchanges->count[op];
    return &model->collectives[exchanges->first[op]];
}

double gw_exchange_gbps(const struct gw_exchanges *exchanges, const struct gw_model *model,
                        const struct gw_collective *collective)
{
    const uint32_t op = collective->op;
    if (op == GW_NONE || collective->match == GW_NONE || exchanges->mixed[op] ||
        exchanges->arrived_ns[op] >= model->ops[op].end_ns) /* or unknown */
        return -1;
    return (double)collective->size_bytes / (double)(model->ops[op].end_ns - exchanges->arrived_ns[op]);
}

double gw_exchange_bus_gbps(const struct gw_exchanges *exchanges, const struct gw_model *model,
                            const struct gw_collective *collective)
{
    const double gbps = gw_exchange_gbps(exchanges, model, collective);
    return gbps < 0 ? gbps
                    : gbps * gw_comm_bus_factor((enum gw_comm_kind)collective->kind,
                                                model->communicators[collective->communicator].size);
}

struct gw_exchange_elements gw_exchange_elements(const struct gw_model *model, const struct gw_collective *collective)
{
    /* by ncclDataType_t, https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html */
    static const struct {
        const char *name;
        uint8_t bytes;
    } types[] = {{"Char", 1}, {"Byte", 1},  {"Int", 4},    {"UInt32", 4},   {"Long", 8},          {"UInt64", 8},
                 {"Half", 2}, {"Float", 4}, {"Double", 8}, {"BFloat16", 2}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    bool is_known = collective->type < sizeof(types) / sizeof(types[0]);
    uint64_t all = collective->size_bytes / (is_known ? types[collective->type].bytes : 1);
    uint32_t size = model->communicators[collective->communicator].size;
    uint64_t part = size ? all / size : all;
    struct gw_exchange_elements elements = {
        .in = all, .out = all, .type = is_known ? types[collective->type].name : "Byte"};
    if (collective->kind == GW_COMM_ALL_GATHER || collective->kind == GW_COMM_GATHER)
        elements.in = part;
    if (collective->kind == GW_COMM_REDUCE_SCATTER || collective->kind == GW_COMM_SCATTER)
        elements.out = part;
    return elements;
}
