/*
 * What the replay takes from the run as a whole: usual times and rates.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/replay.h"
#include "shim/api/functions.h"

/* Copies and synchronisations take about as long each time, for their size. What goes far beyond is the machine's doing
 * (the thread was taken off its CPU) and would hit whatever stood in their place. */
#define NOISE_FACTOR 4u
#define NOISE_LEAST_NS 20000u

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t median(uint64_t *values, size_t count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, compare_u64);
    return values[count / 2];
}

/* Rates of page-locked copies, the host time of a launch, the launch latency: medians of the run. */
int gw_replay_measure_run(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    size_t room = model->ops_count + 1, count = 0, rates[2] = {0};
    uint64_t *values = calloc(4 * room, sizeof *values), *rate[2];
    if (!values)
        return -ENOMEM;
    rate[0] = values + 2 * room;
    rate[1] = values + 3 * room;
    uint64_t *lags = values + room;
    size_t lag_count = 0;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->outer_call == GW_NONE || !gw_op_is_busy(op))
            continue;
        const struct gw_call *call = &model->calls[op->outer_call], *inner = &model->calls[op->call];
        if (op->kind == GW_OP_KERNEL) {
            values[count++] = call->end_ns - call->begin_ns;
            if (op->start_ns > call->begin_ns)
                lags[lag_count++] = op->start_ns - call->begin_ns;
            continue;
        }
        if ((op->kind != GW_OP_H2D && op->kind != GW_OP_D2H) || op->size_bytes < 65536 || op->end_ns == op->start_ns ||
            inner->detail_kind != GW_DETAIL_COPY || inner->detail == GW_NONE)
            continue;
        const struct gw_copy *copy = &model->copies[inner->detail];
        if ((op->kind == GW_OP_H2D ? copy->src_kind : copy->dst_kind) == GW_HOST_PINNED)
            rate[op->kind == GW_OP_D2H][rates[op->kind == GW_OP_D2H]++] =
                op->size_bytes * 1000 / (op->end_ns - op->start_ns); /* bytes a microsecond: MB/s */
    }
    for (int k = 0; k < 2; k++) {
        replay->pinned_measured[k] = rates[k] > 0;
        replay->pinned_gbps[k] = rates[k] ? (double)median(rate[k], rates[k]) / 1e3 : GW_PINNED_ASSUMED_GBPS;
    }
    replay->quick_ns = count ? median(values, count) : 2000;
    if (lag_count) {
        qsort(lags, lag_count, sizeof *lags, compare_u64);
        replay->latency_ns = lags[lag_count / 10];
    }
    free(values);
    return 0;
}

/* ---- noise ---- */

struct usual {
    uint64_t own_ns, lag_ns;
    uint32_t function;
};

static int compare_function(const void *left, const void *right)
{
    const struct usual *a = left, *b = right;
    return a->function < b->function ? -1 : a->function > b->function;
}

static uint64_t first_lag(const struct gw_replay *replay, const struct gw_replay_node *node)
{
    return node->op_count ? replay->ops[node->op_first].lag_ns : 0;
}

static uint64_t excess(uint64_t ns, uint64_t usual_ns, uint64_t bytes)
{
    uint64_t limit = NOISE_LEAST_NS + NOISE_FACTOR * usual_ns + bytes;
    return ns > limit ? ns - limit : 0;
}

int gw_replay_find_noise(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    struct usual *items = calloc(replay->nodes_count + 1, sizeof *items);
    uint64_t *own = calloc(2 * replay->nodes_count + 2, sizeof *own);
    uint64_t *usual = calloc(2 * GW_FUNCTION_COUNT, sizeof *usual), *lag = own ? own + replay->nodes_count + 1 : NULL;
    int ret = -ENOMEM;
    if (!items || !own || !usual)
        goto end;
    for (size_t i = 0; i < replay->nodes_count; i++)
        items[i] = (struct usual){replay->nodes[i].own_ns, first_lag(replay, &replay->nodes[i]),
                                  model->calls[replay->nodes[i].call].function};
    qsort(items, replay->nodes_count, sizeof *items, compare_function);
    for (size_t from = 0, to; from < replay->nodes_count; from = to) {
        for (to = from; to < replay->nodes_count && items[to].function == items[from].function; to++) {
            own[to - from] = items[to].own_ns;
            lag[to - from] = items[to].lag_ns;
        }
        if (items[from].function >= GW_FUNCTION_COUNT)
            continue;
        usual[2 * items[from].function] = median(own, to - from);
        usual[2 * items[from].function + 1] = median(lag, to - from);
    }
    for (size_t i = 0; i < replay->nodes_count; i++) {
        struct gw_replay_node *node = &replay->nodes[i];
        uint32_t function = model->calls[node->call].function;
        enum gw_call_class cls = gw_call_class((uint16_t)function);
        if (function >= GW_FUNCTION_COUNT || (cls != GW_CALL_COPY && cls != GW_CALL_SYNC))
            continue;
        /* Two bytes a nanosecond are slower than any staging: large copies may take their time. */
        uint64_t bytes = node->op_count ? model->ops[replay->ops[node->op_first].op].size_bytes / 2 : 0;
        node->noise_ns = excess(node->own_ns, usual[2 * function], bytes) +
                         excess(first_lag(replay, node), usual[2 * function + 1], bytes);
    }
    ret = 0;
end:
    free(items);
    free(own);
    free(usual);
    return ret;
}
