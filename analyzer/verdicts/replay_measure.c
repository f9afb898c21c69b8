/*
 * What the replay takes from the run as a whole: usual times and rates.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/copies.h"
#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/replay.h"
#include "shim/api/functions.h"

/* Copies and synchronisations take about as long each time, for their size. What goes far beyond is the machine's doing
 * (the thread was taken off its CPU) and would hit whatever stood in their place. Other calls may take long for good
 * reasons; what goes far beyond there counts when the thread is known to have lost the CPU. */
#define NOISE_FACTOR 4u
#define NOISE_LEAST_NS 20000u

/* Medians are taken of about this many values: more would cost time and change nothing. */
#define MEDIAN_OF 20000u
#define NOT_KNOWN UINT64_MAX

/* Rates of page-locked copies, the host time of a launch, the launch latency: usual values of the run. */
int gw_replay_measure_run(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    size_t room = model->ops_count + 1, count = 0, lag_count = 0;
    struct gw_copy_rate rates[GW_COPY_GROUP_COUNT];
    int ret = gw_copy_rates(model, rates);
    if (ret < 0)
        return ret;
    uint64_t *values = calloc(2 * room, sizeof *values), *lags = values + room;
    if (!values)
        return -ENOMEM;
    uint32_t random = 1;
    for (size_t i = 0; i < model->ops_count; i = gw_next_sample(i, model->ops_count, MEDIAN_OF, &random)) {
        const struct gw_op *op = &model->ops[i];
        if (op->outer_call == GW_NONE || !gw_op_is_busy(op) || op->kind != GW_OP_KERNEL)
            continue;
        const struct gw_call *call = &model->calls[op->outer_call];
        values[count++] = call->end_ns - call->begin_ns;
        if (op->start_ns > call->begin_ns)
            lags[lag_count++] = op->start_ns - call->begin_ns;
    }
    for (int k = 0; k < 2; k++)
        replay->pinned[k] = rates[k ? GW_COPIES_D2H_PINNED : GW_COPIES_H2D_PINNED];
    replay->quick_ns = count ? gw_upper_median_u64(values, count) : 2000;
    if (lag_count) {
        /* Where the host is always ahead, every operation waits for the one before it: that is no latency. */
        const uint64_t lag_ns = gw_at_place_u64(lags, lag_count, lag_count / 10);
        replay->latency_ns = lag_ns < GW_LAUNCH_LATENCY_ASSUMED_NS ? lag_ns : replay->latency_ns;
    }
    free(values);
    return 0;
}

/* ---- noise ---- */

/* What of a node can be noisy. */
enum part { PART_OWN = 0, PART_LAG, PART_EXTRA, PART_DURATION, PART_COUNT };

struct sample {
    uint64_t ns[PART_COUNT];
    uint32_t function;
};

static int compare_function(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    return a->function < b->function ? -1 : a->function > b->function;
}

static struct sample sample_of(const struct gw_replay *replay, const struct gw_replay_node *node)
{
    struct sample sample = {{node->own_ns, 0, 0, 0}, replay->host->model->calls[node->call].function};
    if (node->op_count) {
        sample.ns[PART_LAG] = replay->ops[node->op_first].lag_ns;
        sample.ns[PART_EXTRA] = replay->ops[node->op_first].extra_ns;
        sample.ns[PART_DURATION] = replay->ops[node->op_first].duration_ns;
    }
    return sample;
}

static uint64_t excess(uint64_t ns, uint64_t usual_ns, uint64_t bytes_ns)
{
    if (usual_ns == NOT_KNOWN)
        return 0;
    uint64_t limit = NOISE_LEAST_NS + NOISE_FACTOR * usual_ns + bytes_ns;
    return ns > limit ? ns - limit : 0;
}

static void find_usual(struct sample *samples, size_t count, uint64_t *scratch, uint64_t (*usual)[PART_COUNT])
{
    qsort(samples, count, sizeof *samples, compare_function);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && samples[to].function == samples[from].function;)
            to++;
        for (int part = 0; part < PART_COUNT && samples[from].function < GW_FUNCTION_COUNT; part++) {
            for (size_t i = from; i < to; i++)
                scratch[i - from] = samples[i].ns[part];
            usual[samples[from].function][part] = gw_upper_median_u64(scratch, to - from);
        }
    }
}

/* Marks the nodes that launch a kernel for the first time: loading its code takes long, whoever has the CPU. */
static int find_first_uses(const struct gw_replay *replay, bool *ret_first)
{
    const struct gw_model *model = replay->host->model;
    bool *seen = calloc(model->names_count + 1, sizeof *seen);
    if (!seen)
        return -ENOMEM;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind != GW_OP_KERNEL || op->name == GW_NONE || seen[op->name])
            continue;
        seen[op->name] = true;
        uint32_t node = op->outer_call == GW_NONE ? GW_NONE : gw_replay_node_of(replay, op->outer_call);
        if (node != GW_NONE)
            ret_first[node] = true;
    }
    free(seen);
    return 0;
}

int gw_replay_find_noise(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    struct sample *samples = calloc(replay->nodes_count + 1, sizeof *samples);
    uint64_t *scratch = calloc(replay->nodes_count + 1, sizeof *scratch);
    uint64_t(*usual)[PART_COUNT] = calloc(GW_FUNCTION_COUNT, sizeof *usual);
    bool *first_use = calloc(replay->nodes_count + 1, sizeof *first_use);
    int ret = -ENOMEM;
    if (!samples || !scratch || !usual || !first_use || find_first_uses(replay, first_use) < 0)
        goto end;
    size_t count = 0;
    uint32_t random = 1;
    for (size_t i = 0; i < GW_FUNCTION_COUNT; i++)
        usual[i][PART_OWN] = usual[i][PART_LAG] = usual[i][PART_EXTRA] = usual[i][PART_DURATION] = NOT_KNOWN;
    for (size_t i = 0; i < replay->nodes_count; i = gw_next_sample(i, replay->nodes_count, MEDIAN_OF, &random))
        samples[count++] = sample_of(replay, &replay->nodes[i]);
    find_usual(samples, count, scratch, usual);
    count = 0;
    for (size_t i = 0; i < replay->nodes_count; i++) {
        if (replay->nodes[i].waited)
            scratch[count++] = replay->nodes[i].own_ns;
    }
    replay->wake_ns = gw_upper_median_u64(scratch, count);
    for (size_t i = 0; i < replay->nodes_count; i++) {
        struct gw_replay_node *node = &replay->nodes[i];
        struct sample sample = sample_of(replay, node);
        enum gw_call_class cls = gw_call_class((uint16_t)sample.function);
        /* Calls of these classes take alike long by themselves. */
        const bool is_even = cls == GW_CALL_COPY || cls == GW_CALL_SYNC;
        /* So does a launch after the kernel that it waits for; before it, its code may have to be loaded. */
        const bool wakes = cls == GW_CALL_LAUNCH && node->wait == GW_WAIT_FOR_OPS;
        if (sample.function >= GW_FUNCTION_COUNT || (!is_even && !wakes && (!node->preempted || first_use[i])))
            continue;
        /* Two bytes a nanosecond are slower than any staging: large copies may take their time. */
        uint64_t bytes_ns = node->op_count ? model->ops[replay->ops[node->op_first].op].size_bytes / 2 : 0;
        node->own_noise_ns = excess(sample.ns[PART_OWN], usual[sample.function][PART_OWN], bytes_ns);
        if (is_even || node->preempted)
            node->lag_noise_ns = excess(sample.ns[PART_LAG], usual[sample.function][PART_LAG], bytes_ns);
        /* The host itself begins copies that it waits for, from one piece of memory to the other. */
        if (cls == GW_CALL_COPY && node->wait == GW_WAIT_FOR_OPS)
            node->extra_noise_ns = excess(sample.ns[PART_EXTRA], usual[sample.function][PART_EXTRA], bytes_ns);
        if (is_even)
            node->duration_noise_ns = excess(sample.ns[PART_DURATION], usual[sample.function][PART_DURATION], bytes_ns);
    }
    ret = 0;
end:
    free(samples);
    free(scratch);
    free(usual);
    free(first_use);
    return ret;
}

void gw_replay_take_out_noise(struct gw_replay *replay)
{
    for (size_t i = 0; i < replay->nodes_count; i++) {
        struct gw_replay_node *node = &replay->nodes[i];
        node->own_ns -= node->own_noise_ns;
        node->blocked_ns -= node->blocked_noise_ns;
        if (!node->op_count)
            continue;
        replay->ops[node->op_first].lag_ns -= node->lag_noise_ns;
        replay->ops[node->op_first].extra_ns -= node->extra_noise_ns;
        replay->ops[node->op_first].duration_ns -= node->duration_noise_ns;
    }
}
