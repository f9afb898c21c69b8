/*
 * What held an operation back where the trace does not tell which stream waits for which event. One that began later
 * than its launch and its own stream explain is taken to have waited for the operation of another stream of its process
 * that was enqueued before it and ended last before it began. Without this its delay would count from its launch, and
 * a host that is faster in a repaired run would make it begin before what it waits for is over.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/replay.h"

/* Delays up to this have other causes; and what it waited for was over at most so long before. */
#define DELAY_LEAST_NS 2000u
#define AFTER_MOST_NS 20000u

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t process_of(const struct gw_model *model, uint32_t stream)
{
    return model->devices[model->streams[stream].device].process;
}

/* latest: by stream, its operation that was enqueued last so far; GW_NONE without any. */
static uint32_t find_holder(const struct gw_replay *replay, const struct gw_op *op, const uint32_t *latest)
{
    const struct gw_model *model = replay->host->model;
    uint64_t best_ns = op->start_ns > AFTER_MOST_NS ? op->start_ns - AFTER_MOST_NS : 0;
    uint32_t holder = GW_NONE;
    for (uint32_t s = 0; s < model->streams_count; s++) {
        if (s == op->stream || latest[s] == GW_NONE || process_of(model, s) != process_of(model, op->stream))
            continue;
        uint64_t end_ns = model->ops[replay->ops[latest[s]].op].end_ns;
        if (end_ns >= best_ns && end_ns <= op->start_ns) {
            best_ns = end_ns;
            holder = latest[s];
        }
    }
    return holder;
}

int gw_replay_find_held(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    if (!(model->run.unseen & GW_UNSEEN_ORDERS))
        return 0;
    uint32_t *latest = malloc((model->streams_count + 1) * sizeof *latest);
    if (!latest)
        return -ENOMEM;
    for (size_t s = 0; s < model->streams_count; s++)
        latest[s] = GW_NONE;
    for (uint32_t i = 0; i < replay->ops_count; i++) {
        struct gw_replay_op *entry = &replay->ops[i];
        const struct gw_op *op = &model->ops[entry->op];
        if (!entry->early_ns &&
            (entry->lag_ns > replay->latency_ns + DELAY_LEAST_NS || entry->extra_ns > DELAY_LEAST_NS))
            entry->held_by = find_holder(replay, op, latest);
        if (!entry->early_ns && entry->held_by != GW_NONE) {
            entry->extra_ns = op->start_ns - model->ops[replay->ops[entry->held_by].op].end_ns;
            entry->lag_ns = min_u64(entry->lag_ns, replay->latency_ns);
        }
        latest[op->stream] = i;
    }
    free(latest);
    return 0;
}
