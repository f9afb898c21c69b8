#include "plots/comm_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double gw_exchange_rate(const struct gw_exchange *exchange)
{
    return exchange->bus_bytes / (double)exchange->transfer_ns;
}

double gw_comm_expected_rate(const struct gw_comm_data *data, double bus_bytes)
{
    return bus_bytes / (data->latency_ns + bus_bytes / data->best_rate);
}

void gw_comm_data_clear(struct gw_comm_data *data)
{
    free(data->exchanges);
    free(data->shares);
    memset(data, 0, sizeof(*data));
}

static bool timed(const struct gw_collective *collective)
{
    return collective->match != GW_NONE && collective->transfer_ns != GW_TIME_UNKNOWN && collective->transfer_ns > 0;
}

/* The exchange a collective belongs to: the first one that its kernel carries out. */
static uint32_t leader_of(const struct gw_collective *collective, uint32_t *leader_of_op)
{
    if (collective->op == GW_NONE)
        return collective->match;
    if (leader_of_op[collective->op] == GW_NONE)
        leader_of_op[collective->op] = collective->match;
    return leader_of_op[collective->op];
}

static void add_rank(const struct gw_model *model, const struct gw_collective *collective, struct gw_exchange *exchange)
{
    const struct gw_op *op = collective->op < model->ops_count ? &model->ops[collective->op] : NULL;

    if (collective->transfer_ns > exchange->transfer_ns) {
        exchange->transfer_ns = collective->transfer_ns;
        exchange->begin_ns = op ? op->end_ns - collective->transfer_ns : model->calls[collective->call].begin_ns;
    }
}

/* A collective of a group counts its bytes once, by whichever rank is seen first. */
static void add_bytes(const struct gw_model *model, const struct gw_collective *collective,
                      struct gw_exchange *exchange)
{
    uint32_t ranks = model->communicators[collective->communicator].size;
    uint8_t kind = collective->kind == GW_COMM_RECV ? GW_COMM_SEND : collective->kind;

    exchange->bus_bytes += gw_comm_bus_factor(kind, ranks) * (double)collective->size_bytes;
    exchange->size_bytes += collective->size_bytes;
    exchange->kind = exchange->calls == 0 || exchange->kind == kind ? kind : GW_EXCHANGE_MIXED;
    exchange->ranks = ranks > exchange->ranks ? ranks : exchange->ranks;
    exchange->calls++;
}

static int find_exchanges(const struct gw_model *model, struct gw_comm_data *data)
{
    uint32_t *leader_of_op = malloc((model->ops_count + 1) * sizeof(*leader_of_op));
    uint32_t matches = 0;
    bool *counted = NULL;
    size_t kept = 0;
    int error = -ENOMEM;

    for (size_t i = 0; i < model->collectives_count; i++)
        if (timed(&model->collectives[i]) && model->collectives[i].match >= matches)
            matches = model->collectives[i].match + 1;
    data->exchanges = calloc(matches + 1, sizeof(*data->exchanges));
    counted = calloc(matches + 1, sizeof(*counted));
    if (!leader_of_op || !data->exchanges || !counted)
        goto end;
    memset(leader_of_op, 0xff, (model->ops_count + 1) * sizeof(*leader_of_op));
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        struct gw_exchange *exchange;
        if (!timed(collective)) {
            data->unmatched++;
            continue;
        }
        exchange = &data->exchanges[leader_of(collective, leader_of_op)];
        add_rank(model, collective, exchange);
        if (!counted[collective->match])
            add_bytes(model, collective, exchange);
        counted[collective->match] = true;
    }
    for (uint32_t i = 0; i < matches; i++)
        if (data->exchanges[i].bus_bytes > 0.0 && data->exchanges[i].transfer_ns > 0)
            data->exchanges[kept++] = data->exchanges[i];
    data->exchanges_count = kept;
    error = 0;
end:
    free(leader_of_op);
    free(counted);
    return error;
}

/* Latency and rate such that the shortest and the fastest exchange take what they took. An exchange that takes hardly
 * longer than the shortest says nothing of the rate beyond the latency. */
static void find_best(struct gw_comm_data *data)
{
    const struct gw_exchange *fastest = NULL, *shortest = NULL;
    double more_bytes, more_ns;

    for (size_t i = 0; i < data->exchanges_count; i++) {
        const struct gw_exchange *exchange = &data->exchanges[i];
        if (!shortest || exchange->transfer_ns < shortest->transfer_ns)
            shortest = exchange;
        if (!fastest || gw_exchange_rate(exchange) > gw_exchange_rate(fastest))
            fastest = exchange;
    }
    if (!fastest)
        return;
    data->best_rate = gw_exchange_rate(fastest);
    more_bytes = fastest->bus_bytes - shortest->bus_bytes;
    more_ns = (double)fastest->transfer_ns - (double)shortest->transfer_ns;
    if (more_bytes <= 0.0 || more_ns < (double)shortest->transfer_ns)
        return;
    data->best_rate = more_bytes / more_ns;
    data->latency_ns = (double)shortest->transfer_ns - shortest->bus_bytes / data->best_rate;
    if (data->latency_ns < 0.0) {
        data->latency_ns = 0.0;
        data->best_rate = gw_exchange_rate(fastest);
    }
}

struct interval {
    uint64_t begin_ns, end_ns;
    uint32_t device;
};

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* The communication of each device, without overlaps: of intervals in order, what reaches beyond those before. */
static size_t find_communication(const struct gw_model *model, struct interval *intervals)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind == GW_OP_COMM && !(op->flags & GW_OP_UNTIMED))
            intervals[count++] = (struct interval){op->start_ns, op->end_ns, model->streams[op->stream].device};
    }
    qsort(intervals, count, sizeof(*intervals), compare_intervals);
    for (size_t i = 0; i < count; i++) {
        struct interval next = intervals[i];
        if (kept && intervals[kept - 1].device == next.device && next.begin_ns < intervals[kept - 1].end_ns)
            next.begin_ns = intervals[kept - 1].end_ns;
        if (next.begin_ns < next.end_ns)
            intervals[kept++] = next;
    }
    return kept;
}

/* Time of a device's communication within a step; *at moves on with the steps, which rise. */
static uint64_t within(const struct interval *intervals, size_t count, size_t *at, uint32_t device, uint64_t begin_ns,
                       uint64_t end_ns)
{
    uint64_t sum_ns = 0;

    while (*at < count && intervals[*at].device == device && intervals[*at].end_ns <= begin_ns)
        (*at)++;
    for (size_t i = *at; i < count && intervals[i].device == device && intervals[i].begin_ns < end_ns; i++) {
        uint64_t from = intervals[i].begin_ns > begin_ns ? intervals[i].begin_ns : begin_ns;
        uint64_t to = intervals[i].end_ns < end_ns ? intervals[i].end_ns : end_ns;
        sum_ns += to - from;
    }
    return sum_ns;
}

static int find_shares(const struct gw_plot_source *source, struct gw_comm_data *data)
{
    const struct gw_model *model = source->model;
    struct interval *intervals = malloc((model->ops_count + 1) * sizeof(*intervals));
    struct gw_comm_share *shares = calloc(model->devices_count + 1, sizeof(*shares));
    uint32_t *steps = calloc(model->devices_count + 1, sizeof(*steps));
    size_t *at = calloc(model->devices_count + 1, sizeof(*at)), count, kept = 0;
    int error = -ENOMEM;

    if (!intervals || !shares || !steps || !at)
        goto end;
    count = find_communication(model, intervals);
    for (size_t i = count; i-- > 0;)
        at[intervals[i].device] = i;
    for (size_t i = 0; i < source->budget->cells_count; i++) {
        const struct gw_step_budget *cell = &source->budget->cells[i];
        const struct gw_interval *time = &source->budget->times[cell->step];
        struct gw_comm_share *share = &shares[cell->device];
        if (model->steps[cell->step].warmup)
            continue;
        share->device = cell->device;
        share->step_ns += (double)(time->end_ns - time->begin_ns);
        share->all_ns +=
            (double)within(intervals, count, &at[cell->device], cell->device, time->begin_ns, time->end_ns);
        share->wait_ns += (double)cell->ns[GW_CLASS_COMM_WAIT];
        share->transfer_ns += (double)cell->ns[GW_CLASS_COMM_TRANSFER];
        share->unsplit_ns += (double)cell->ns[GW_CLASS_COMM_EXPOSED];
        steps[cell->device]++;
    }
    for (size_t i = 0; i < model->devices_count; i++) {
        struct gw_comm_share *share = &shares[i];
        if (share->all_ns <= 0.0)
            continue;
        share->step_ns /= steps[i];
        share->all_ns /= steps[i];
        share->wait_ns /= steps[i];
        share->transfer_ns /= steps[i];
        share->unsplit_ns /= steps[i];
        shares[kept++] = *share;
    }
    data->shares = shares;
    data->shares_count = kept;
    shares = NULL;
    error = 0;
end:
    free(intervals);
    free(shares);
    free(steps);
    free(at);
    return error;
}

int gw_comm_data_create(const struct gw_plot_source *source, struct gw_comm_data *data)
{
    int error;

    memset(data, 0, sizeof(*data));
    error = find_exchanges(source->model, data);
    if (!error)
        error = find_shares(source, data);
    find_best(data);
    return error;
}
