/* Collectives and messages of NCCL: the operation that carries each out, and which of several ranks are one exchange.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/sorted.h"
#include "shim/api/functions.h"

/* A communication kernel by the outermost call it was launched in. */
struct carrier {
    uint32_t outer_call, op;
};

struct exchange {
    uint64_t latest_start_ns; /* GW_TIME_UNKNOWN when one is */
    uint32_t count;
};

struct matching {
    struct gw_model *model;
    struct carrier *carriers;
    size_t carriers_count;
    uint32_t *group; /* collectives of the group a thread is in, in order */
    size_t group_count, group_capacity;
    struct gw_map counters, exchanges; /* communicator, pair → how many; its id, pair << 32 | sequence → exchange */
    struct exchange *found;
    size_t found_count;
};

const char *gw_comm_kind_name(enum gw_comm_kind kind)
{
    static const char *const names[GW_COMM_KIND_COUNT] = {"all_reduce", "reduce",     "reduce_scatter", "broadcast",
                                                          "all_gather", "all_to_all", "gather",         "scatter",
                                                          "send",       "recv"};
    return (unsigned)kind < GW_COMM_KIND_COUNT ? names[kind] : "?";
}

double gw_comm_bus_factor(enum gw_comm_kind kind, uint32_t size)
{
    const double ranks = size ? size : 1;
    switch (kind) {
    case GW_COMM_ALL_REDUCE:
        return 2 * (ranks - 1) / ranks;
    case GW_COMM_REDUCE_SCATTER:
    case GW_COMM_ALL_GATHER:
    case GW_COMM_ALL_TO_ALL:
    case GW_COMM_GATHER:
    case GW_COMM_SCATTER:
        return (ranks - 1) / ranks;
    default:
        return 1;
    }
}

bool gw_comm_is_message(const struct gw_collective *collective)
{
    return collective->kind == GW_COMM_SEND || collective->kind == GW_COMM_RECV;
}

uint32_t gw_comm_type_bytes(uint8_t type)
{
    static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type < sizeof(bytes) ? bytes[type] : 0;
}

static int by_call(const void *left, const void *right)
{
    const struct carrier *a = left, *b = right;
    return a->outer_call != b->outer_call ? (a->outer_call < b->outer_call ? -1 : 1)
                                          : (a->op > b->op) - (a->op < b->op);
}

static int list_carriers(struct matching *self)
{
    const struct gw_model *model = self->model;
    self->carriers = malloc((model->ops_count + 1) * sizeof(*self->carriers));
    if (!self->carriers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].kind == GW_OP_COMM && model->ops[i].outer_call != GW_NONE) {
            self->carriers[self->carriers_count++] = (struct carrier){model->ops[i].outer_call, (uint32_t)i};
        }
    }
    qsort(self->carriers, self->carriers_count, sizeof(*self->carriers), by_call);
    return 0;
}

static size_t first_carrier(const struct matching *self, uint32_t outer_call)
{
    const size_t low = GW_FIRST_NOT(0, self->carriers_count, middle, self->carriers[middle].outer_call < outer_call);
    return low;
}

/* Whether a kernel's name is that of such an exchange; those that NCCL makes of messages are named so. */
bool gw_comm_names_kind(const struct gw_model *model, const struct gw_op *op, enum gw_comm_kind kind)
{
    static const char *const parts[GW_COMM_KIND_COUNT] = {"AllReduce_", "_Reduce_", "ReduceScatter_", "Broadcast_",
                                                          "AllGather_", "SendRecv", "SendRecv",       "SendRecv",
                                                          "SendRecv",   "SendRecv"};
    const char *name = op->name == GW_NONE ? "" : model->names[op->name];
    return (unsigned)kind < GW_COMM_KIND_COUNT && strstr(name, parts[kind]) != NULL;
}

/* Binds collectives to the kernels that the call launched. Several may share one kernel: messages do, and NCCL may
 * carry out a group's collectives together. */
static void bind(struct matching *self, const uint32_t *collectives, size_t count, uint32_t outer_call)
{
    struct gw_model *model = self->model;
    const size_t first = first_carrier(self, outer_call);
    for (size_t i = 0; i < count; i++) {
        struct gw_collective *collective = &model->collectives[collectives[i]];
        uint32_t shared = GW_NONE, own = GW_NONE;
        for (size_t c = first; c < self->carriers_count && self->carriers[c].outer_call == outer_call; c++) {
            const uint32_t index = self->carriers[c].op;
            if (model->ops[index].stream != collective->stream) {
                continue;
            }
            bool is_taken = false;
            for (size_t j = 0; j < i && !gw_comm_is_message(collective); j++) {
                is_taken = is_taken || model->collectives[collectives[j]].op == index;
            }
            shared = index;
            if (!is_taken && gw_comm_names_kind(model, &model->ops[index], collective->kind)) {
                own = index;
                break;
            }
        }
        collective->op = own != GW_NONE ? own : shared;
    }
}

static int add_to_group(struct matching *self, uint32_t collective)
{
    if (self->group_count == self->group_capacity) {
        const size_t capacity = self->group_capacity ? 2 * self->group_capacity : 64;
        uint32_t *grown = realloc(self->group, capacity * sizeof(*grown));
        if (!grown) {
            return -ENOMEM;
        }
        self->group = grown;
        self->group_capacity = capacity;
    }
    self->group[self->group_count++] = collective;
    return 0;
}

static int bind_thread(struct matching *self, const struct gw_thread *thread)
{
    struct gw_model *model = self->model;
    unsigned depth = 0;
    self->group_count = 0;
    for (uint32_t i = 0; i < thread->call_count; i++) {
        const uint32_t index = model->thread_calls[thread->call_first + i];
        const struct gw_call *call = &model->calls[index];
        if (call->detail_kind == GW_DETAIL_COLLECTIVE && call->detail != GW_NONE) {
            model->collectives[call->detail].call = index;
            if (depth == 0) {
                bind(self, &call->detail, 1, index);
            } else if (call->result == 0 && add_to_group(self, call->detail)) {
                return -ENOMEM;
            }
        } else if (call->function == GW_FUNCTION_ncclGroupStart || call->function == GW_FUNCTION_pncclGroupStart) {
            depth++;
        } else if ((call->function == GW_FUNCTION_ncclGroupEnd || call->function == GW_FUNCTION_pncclGroupEnd) &&
                   depth && --depth == 0) {
            bind(self, self->group, self->group_count, index);
            self->group_count = 0;
        }
    }
    return 0;
}

/* Numbers the exchanges of each communicator: a rank's n-th collective is the others' n-th, a message's n-th too. */
static int match(struct matching *self, struct gw_collective *collective)
{
    const struct gw_communicator *communicator = &self->model->communicators[collective->communicator];
    const uint32_t rank = communicator->rank, peer = collective->rank;
    uint64_t pair = 0;
    if (gw_comm_is_message(collective)) {
        const uint32_t from = collective->kind == GW_COMM_SEND ? rank : peer;
        const uint32_t to = collective->kind == GW_COMM_SEND ? peer : rank;
        pair = 1 + ((uint64_t)(from & 0xffffu) << 16 | (to & 0xffffu));
    }
    /* A message to oneself counts once for the sending, once for the receiving. */
    const uint64_t counter = pair << 1 | (collective->kind == GW_COMM_RECV);
    uint32_t *count = gw_map_find(&self->counters, collective->communicator, counter);
    if (!count && gw_map_insert(&self->counters, collective->communicator, counter, 0)) {
        return -ENOMEM;
    }
    count = gw_map_find(&self->counters, collective->communicator, counter);
    collective->sequence = (*count)++;
    const uint64_t key = pair << 32 | collective->sequence;
    const uint32_t *known = gw_map_find(&self->exchanges, communicator->id, key);
    if (!known) {
        if (GW_GROW(self->found, self->found_count) ||
            gw_map_insert(&self->exchanges, communicator->id, key, (uint32_t)self->found_count)) {
            return -ENOMEM;
        }
        collective->match = (uint32_t)self->found_count;
        self->found[self->found_count++] = (struct exchange){0, 0};
    } else {
        collective->match = *known;
    }
    struct exchange *exchange = &self->found[collective->match];
    exchange->count++;
    const uint64_t start_ns = collective->op == GW_NONE ? GW_TIME_UNKNOWN : self->model->ops[collective->op].start_ns;
    if (start_ns > exchange->latest_start_ns) {
        exchange->latest_start_ns = start_ns; /* an unknown one is later than any */
    }
    return 0;
}

static void finish(const struct matching *self, struct gw_collective *collective)
{
    const struct gw_communicator *communicator = &self->model->communicators[collective->communicator];
    const struct exchange *exchange = &self->found[collective->match];
    const uint32_t expected = gw_comm_is_message(collective) ? 2 : communicator->size;
    collective->matched = exchange->count;
    if (exchange->count != expected || exchange->latest_start_ns == GW_TIME_UNKNOWN) {
        return;
    }
    const struct gw_op *op = &self->model->ops[collective->op];
    collective->arrival_wait_ns = exchange->latest_start_ns - op->start_ns;
    collective->transfer_ns = op->end_ns > exchange->latest_start_ns ? op->end_ns - exchange->latest_start_ns : 0;
}

static void set_bytes(const struct gw_model *model, struct gw_collective *collective)
{
    const uint32_t size = model->communicators[collective->communicator].size;
    const bool is_part = collective->kind == GW_COMM_REDUCE_SCATTER || collective->kind == GW_COMM_ALL_GATHER ||
                         collective->kind == GW_COMM_ALL_TO_ALL || collective->kind == GW_COMM_GATHER ||
                         collective->kind == GW_COMM_SCATTER;
    collective->size_bytes *= gw_comm_type_bytes(collective->type) * (is_part && size ? size : 1);
}

static int by_call_then_place(const void *left, const void *right)
{
    const struct gw_collective *const *a = left, *const *b = right;
    if ((*a)->call != (*b)->call) {
        return (*a)->call < (*b)->call ? -1 : 1;
    }
    return *a < *b ? -1 : *a > *b;
}

/* Matches the collectives of calls that succeeded, in order of call, and says what each waited for the others. */
static int match_all(struct matching *self)
{
    struct gw_model *model = self->model;
    struct gw_collective **order = malloc((model->collectives_count + 1) * sizeof(struct gw_collective *));
    int status = order ? 0 : -ENOMEM;
    for (size_t i = 0; order && i < model->collectives_count; i++) {
        order[i] = &model->collectives[i];
    }
    if (order) {
        qsort(order, model->collectives_count, sizeof(struct gw_collective *), by_call_then_place);
    }
    for (size_t i = 0; i < model->collectives_count && !status; i++) {
        if (model->calls[order[i]->call].result == 0 && !order[i]->is_captured) {
            status = match(self, order[i]);
        }
    }
    free(order);
    for (size_t i = 0; i < model->collectives_count && !status; i++) {
        if (model->collectives[i].match != GW_NONE) {
            finish(self, &model->collectives[i]);
        }
    }
    gw_map_clear(&self->counters);
    gw_map_clear(&self->exchanges);
    free(self->found);
    return status;
}

int gw_match_collectives(struct gw_model *model)
{
    struct matching self = {.model = model};
    return match_all(&self);
}

int gw_build_collectives(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    struct matching self = {.model = model};
    int status = 0;
    if (!model->collectives_count) {
        return 0;
    }
    for (size_t i = 0; i < model->collectives_count && !status; i++) {
        status = model->collectives[i].communicator == GW_NONE ? -ENOMEM : 0;
    }
    status = status ? status : list_carriers(&self);
    for (size_t i = 0; i < model->threads_count && !status; i++) {
        status = bind_thread(&self, &model->threads[i]);
    }
    for (size_t i = 0; i < model->collectives_count && !status; i++) {
        set_bytes(model, &model->collectives[i]);
    }
    status = status ? status : gw_build_captured(model);
    status = status ? status : match_all(&self);
    free(self.carriers);
    free(self.group);
    return status;
}
