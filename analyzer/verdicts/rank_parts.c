/*
 * The same stretch of work on all ranks, and a run in which none takes longer for it than the median one.
 */
#include "analyzer/verdicts/rank_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"

static uint64_t lower_median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, gw_by_u64);
    return values[(count - 1) / 2];
}

static int compare_parts(const void *left, const void *right)
{
    const struct gw_rank_part *a = left, *b = right;
    if (a->match != b->match)
        return a->match < b->match ? -1 : 1;
    if (a->is_first != b->is_first)
        return a->is_first - b->is_first;
    return a->device < b->device ? -1 : a->device > b->device;
}

bool gw_is_collective(const struct gw_comm_kernel *kernel)
{
    return !kernel->is_message && kernel->collective != GW_NONE && kernel->arrived_ns != GW_TIME_UNKNOWN;
}

/* Place of a value in an ascending list of which [low, high) is asked; where it would be when it is not there. */
static size_t place_of(const uint32_t *list, size_t low, size_t high, uint32_t value)
{
    return GW_FIRST_NOT(low, high, place, list[place] < value);
}

/* Place of the operation in device_ops, and of the node that enqueued it in lane_nodes. False: not in the graph. */
static bool find_places(const struct gw_judge *judge, const struct gw_comm_kernel *kernel, size_t *ret_op,
                        size_t *ret_node)
{
    const struct gw_replay *replay = judge->replay;
    const struct gw_comm *comm = judge->comm;
    uint32_t node = gw_replay_node_of(replay, judge->model->ops[kernel->op].outer_call);
    uint32_t lane = replay->device_lane[kernel->device];
    if (node == GW_NONE)
        return false;
    *ret_op = place_of(comm->device_ops, comm->device_first[kernel->device], comm->device_first[kernel->device + 1],
                       kernel->op);
    *ret_node = place_of(replay->lane_nodes, replay->lane_first[lane], replay->lane_first[lane + 1], node);
    return true;
}

/* Place in device_ops of the device's first operation of an analysed step. */
static size_t first_op(const struct gw_comm *comm, uint32_t device)
{
    size_t at = comm->device_first[device];
    while (at < comm->device_first[device + 1] && comm->op_step[comm->device_ops[at]] == GW_NONE)
        at++;
    return at;
}

struct gw_rank_part *gw_rank_parts(const struct gw_judge *judge, size_t *ret_count)
{
    const struct gw_comm *comm = judge->comm;
    struct gw_rank_part *parts = calloc(comm->kernels_count + 1, sizeof *parts);
    size_t count = 0, op = 0, node = 0, last_op = 0, last_node = 0;
    uint32_t device = GW_NONE; /* of the collective before */
    for (size_t i = 0; parts && i < comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        if (!gw_is_collective(kernel) || !find_places(judge, kernel, &op, &node))
            continue;
        const bool is_first = device != kernel->device;
        const size_t op_first = is_first ? first_op(comm, kernel->device) : last_op + 1,
                     node_first = is_first ? judge->replay->lane_first[judge->replay->device_lane[kernel->device]]
                                           : last_node + 1;
        parts[count++] = (struct gw_rank_part){.match = judge->model->collectives[kernel->collective].match,
                                               .device = kernel->device,
                                               .step = kernel->step,
                                               .is_first = is_first,
                                               .op_first = op_first,
                                               .op_count = op > op_first ? op - op_first : 0,
                                               .node_first = node_first,
                                               .node_count = node + 1 > node_first ? node + 1 - node_first : 0};
        device = kernel->device;
        last_op = op;
        last_node = node;
    }
    if (parts)
        qsort(parts, count, sizeof *parts, compare_parts);
    *ret_count = count;
    return parts;
}

/* ---- balanced ranks ---- */

/* Makes no rank take longer for the k-th operation since the last collective than the median rank. */
static void balance_ops(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                        size_t count, uint64_t *scratch)
{
    const struct gw_model *model = judge->model;
    const uint32_t *list = judge->comm->device_ops;
    for (size_t k = 0; k < parts[0].op_count; k++) {
        for (size_t p = 0; p < count; p++) {
            const struct gw_op *op = &model->ops[list[parts[p].op_first + k]];
            scratch[p] = op->end_ns - op->start_ns;
        }
        if (model->ops[list[parts[0].op_first + k]].kind == GW_OP_COMM)
            continue;
        uint64_t median = lower_median(scratch, count);
        for (size_t p = 0; p < count; p++) {
            uint32_t index = list[parts[p].op_first + k];
            if (model->ops[index].end_ns - model->ops[index].start_ns > median)
                plan->op_ns[index] = median;
        }
    }
}

/* The same for the host's time before and in its k-th call. */
static void balance_nodes(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                          size_t count, uint64_t *scratch)
{
    const struct gw_replay *replay = judge->replay;
    for (size_t k = 0; k < parts[0].node_count; k++) {
        for (size_t p = 0; p < count; p++) {
            const struct gw_replay_node *node = &replay->nodes[replay->lane_nodes[parts[p].node_first + k]];
            scratch[p] = node->think_ns + node->blocked_ns;
        }
        uint64_t outside = lower_median(scratch, count);
        for (size_t p = 0; p < count; p++)
            scratch[p] = replay->nodes[replay->lane_nodes[parts[p].node_first + k]].own_ns;
        uint64_t own = lower_median(scratch, count);
        for (size_t p = 0; p < count; p++) {
            uint32_t index = replay->lane_nodes[parts[p].node_first + k];
            struct gw_host_time *time = &plan->nodes[index];
            if (time->think_ns + time->blocked_ns > outside)
                *time = (struct gw_host_time){outside, 0, time->own_ns};
            if (replay->nodes[index].wait == GW_WAIT_FOR_NOTHING && time->own_ns > own)
                time->own_ns = own;
        }
    }
}

/* Where ranks make different calls: makes no rank spend longer outside of all calls of the part than the median rank.
 * What is too long is taken from its longest pauses. */
static void balance_pauses(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                           size_t count, uint64_t *scratch)
{
    const uint32_t *list = judge->replay->lane_nodes;
    for (size_t p = 0; p < count; p++) {
        scratch[p] = 0;
        for (size_t k = 0; k < parts[p].node_count; k++) {
            const struct gw_replay_node *node = &judge->replay->nodes[list[parts[p].node_first + k]];
            scratch[p] += node->think_ns + node->blocked_ns;
        }
    }
    for (size_t p = 0; p < count; p++)
        scratch[count + p] = scratch[p];
    uint64_t median = lower_median(&scratch[count], count);
    for (size_t p = 0; p < count; p++) {
        for (uint64_t over = scratch[p] > median ? scratch[p] - median : 0; over;) {
            struct gw_host_time *longest = NULL;
            uint64_t length = 0;
            for (size_t k = 0; k < parts[p].node_count; k++) {
                struct gw_host_time *time = &plan->nodes[list[parts[p].node_first + k]];
                if (time->think_ns + time->blocked_ns > length) {
                    length = time->think_ns + time->blocked_ns;
                    longest = time;
                }
            }
            if (!longest)
                break;
            uint64_t cut = length < over ? length : over;
            over -= cut;
            *longest = (struct gw_host_time){length - cut, 0, longest->own_ns};
        }
    }
}

static bool is_wait(const struct gw_judge *judge, const struct gw_replay_node *node)
{
    return node->wait != GW_WAIT_FOR_NOTHING && gw_call_class(judge->model->calls[node->call].function) == GW_CALL_SYNC;
}

/* The same for synchronisations: a rank that alone waits for its device, and is then late, waits no more. */
static void balance_waits(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                          size_t count, uint64_t *scratch)
{
    const struct gw_replay *replay = judge->replay;
    for (size_t p = 0; p < count; p++) {
        scratch[p] = 0;
        for (size_t k = 0; k < parts[p].node_count; k++)
            scratch[p] += is_wait(judge, &replay->nodes[replay->lane_nodes[parts[p].node_first + k]]);
        scratch[count + p] = scratch[p];
    }
    const uint64_t median = lower_median(&scratch[count], count);
    for (size_t p = 0; p < count; p++) {
        for (uint64_t over = scratch[p] > median ? scratch[p] - median : 0; over; over--) {
            const struct gw_call *longest = NULL;
            uint32_t call = GW_NONE;
            for (size_t k = 0; k < parts[p].node_count; k++) {
                const struct gw_replay_node *node = &replay->nodes[replay->lane_nodes[parts[p].node_first + k]];
                const struct gw_call *wait = &judge->model->calls[node->call];
                if (!is_wait(judge, node) || plan->calls[node->call] & GW_EDIT_DROP ||
                    (longest && wait->end_ns - wait->begin_ns <= longest->end_ns - longest->begin_ns))
                    continue;
                longest = wait;
                call = node->call;
            }
            if (call != GW_NONE)
                plan->calls[call] |= GW_EDIT_DROP;
        }
    }
}

static bool same_counts(const struct gw_rank_part *parts, size_t count, bool nodes)
{
    for (size_t p = 1; p < count; p++) {
        if (nodes ? parts[p].node_count != parts[0].node_count : parts[p].op_count != parts[0].op_count)
            return false;
    }
    return true;
}

int gw_rank_parts_balance(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                          size_t count, size_t *ret_balanced)
{
    const struct gw_replay *replay = judge->replay;
    uint64_t *scratch = calloc(2 * judge->model->devices_count + 1, sizeof *scratch);
    size_t balanced = 0;
    plan->nodes = calloc(replay->nodes_count + 1, sizeof *plan->nodes);
    if (!scratch || !plan->nodes) {
        free(scratch);
        return -ENOMEM;
    }
    for (size_t i = 0; i < replay->nodes_count; i++) {
        const struct gw_replay_node *node = &replay->nodes[i];
        plan->nodes[i] = (struct gw_host_time){node->think_ns, node->blocked_ns, node->own_ns};
    }
    for (size_t from = 0, to; from < count; from = to) {
        /* Where steps of ranks do not begin at one place, first parts are not alike. */
        for (to = from;
             to < count && parts[to].match == parts[from].match && parts[to].is_first == parts[from].is_first;)
            to++;
        if (to - from < GW_RANKS_LEAST || !same_counts(&parts[from], to - from, false))
            continue;
        balanced += to - from;
        balance_ops(plan, judge, &parts[from], to - from, scratch);
        if (same_counts(&parts[from], to - from, true))
            balance_nodes(plan, judge, &parts[from], to - from, scratch);
        else
            balance_pauses(plan, judge, &parts[from], to - from, scratch);
        balance_waits(plan, judge, &parts[from], to - from, scratch);
    }
    free(scratch);
    *ret_balanced = balanced;
    return 0;
}
