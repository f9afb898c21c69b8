#include "analyzer/verdicts/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The replayed run so far; all times are the replay's own. */
struct state {
    const struct gw_replay *replay;
    const struct gw_model *model;
    const uint8_t *edits;
    uint64_t *node_begin, *node_end;
    uint64_t *stream_end, *blocking_end, *engine_free, *event_ns, *thread_end, *process_busy, *process_end;
    bool *thread_seen;
    uint32_t *legacy;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t stream_ready(const struct state *now, uint32_t stream, bool join)
{
    const struct gw_stream *s = &now->model->streams[stream];
    uint64_t ready = now->stream_end[stream];
    if (!join)
        return ready;
    if (s->flags & GW_STREAM_LEGACY)
        return max_u64(ready, now->blocking_end[s->device]);
    if (!(s->flags & GW_STREAM_NON_BLOCKING) && now->legacy[s->device] != GW_NONE)
        return max_u64(ready, now->stream_end[now->legacy[s->device]]);
    return ready;
}

static uint64_t op_duration(const struct state *now, const struct gw_replay_op *entry, uint8_t edit)
{
    const struct gw_op *op = &now->model->ops[entry->op];
    if (!(edit & GW_EDIT_PINNED) || (op->kind != GW_OP_H2D && op->kind != GW_OP_D2H))
        return entry->duration_ns;
    double pinned = (double)op->size_bytes / now->replay->pinned_gbps[op->kind == GW_OP_D2H];
    return min_u64(entry->duration_ns, (uint64_t)pinned);
}

/* Runs one operation; returns its end. */
static uint64_t run_op(struct state *now, const struct gw_replay_op *entry, uint64_t enqueue_ns, uint8_t edit)
{
    const struct gw_op *op = &now->model->ops[entry->op];
    const struct gw_stream *stream = &now->model->streams[op->stream];
    bool is_copy = op->kind == GW_OP_H2D || op->kind == GW_OP_D2H;
    uint64_t ready = edit & GW_EDIT_OTHER_STREAM ? 0 : stream_ready(now, op->stream, !(edit & GW_EDIT_NO_ORDER));
    uint64_t *engine = NULL;
    if (is_copy && now->replay->engine_serial[2 * stream->device + (op->kind == GW_OP_D2H)]) {
        engine = &now->engine_free[2 * stream->device + (op->kind == GW_OP_D2H)];
        ready = max_u64(ready, *engine);
    }
    uint64_t lag = edit & GW_EDIT_QUICK ? min_u64(entry->lag_ns, now->replay->latency_ns) : entry->lag_ns;
    uint64_t end = max_u64(enqueue_ns + lag, ready + entry->extra_ns) + op_duration(now, entry, edit);
    now->stream_end[op->stream] = max_u64(now->stream_end[op->stream], end);
    if (!(stream->flags & GW_STREAM_NON_BLOCKING))
        now->blocking_end[stream->device] = max_u64(now->blocking_end[stream->device], end);
    if (engine)
        *engine = max_u64(*engine, end);
    return end;
}

static void run_orders(struct state *now, const struct gw_replay_node *node, uint8_t edit)
{
    for (uint32_t i = 0; i < node->order_count; i++) {
        const struct gw_order *order = &now->replay->orders[node->order_first + i];
        if (order->what == GW_ORDER_EVENT_RECORD)
            now->event_ns[order->event] = stream_ready(now, order->stream, true);
        else if (!(edit & GW_EDIT_NO_ORDER))
            now->stream_end[order->stream] = max_u64(now->stream_end[order->stream], now->event_ns[order->event]);
    }
}

static uint64_t waited_until(const struct state *now, const struct gw_replay_node *node, uint64_t ops_end,
                             uint64_t busy)
{
    switch ((enum gw_wait_kind)node->wait) {
    case GW_WAIT_FOR_OPS:
        return ops_end;
    case GW_WAIT_FOR_STREAM:
        return stream_ready(now, node->target, true);
    case GW_WAIT_FOR_DEVICES:
        return busy;
    case GW_WAIT_FOR_EVENT:
        return now->event_ns[node->target];
    case GW_WAIT_FOR_NOTHING:
        break;
    }
    return 0;
}

static uint64_t node_begin(const struct state *now, const struct gw_replay_node *node, uint8_t edit)
{
    if (!now->thread_seen[node->thread])
        return node->begin_ns;
    uint64_t think = edit & GW_EDIT_NO_THINK ? 0 : node->think_ns;
    uint64_t begin = now->thread_end[node->thread] + think;
    if (edit & GW_EDIT_NO_BLOCK)
        return begin;
    if (node->handed_by == GW_NONE)
        return begin + node->blocked_ns;
    return max_u64(begin, now->node_end[node->handed_by] + node->handed_ns);
}

/* The call's own time after what it waited for. One that has to sleep now, and did not, wakes up as others do. */
static uint64_t own_after(const struct state *now, const struct gw_replay_node *node, bool waits)
{
    uint64_t wake = now->replay->wake_ns;
    if (node->wait == GW_WAIT_FOR_NOTHING || waits == node->waited)
        return node->own_ns;
    return waits ? max_u64(node->own_ns, wake) : node->own_ns - min_u64(node->own_ns, wake);
}

static void run_node(struct state *now, uint32_t index)
{
    const struct gw_replay_node *node = &now->replay->nodes[index];
    uint8_t edit = now->edits ? now->edits[node->call] : 0;
    uint32_t process = now->model->threads[node->thread].process;
    uint64_t begin = node_begin(now, node, edit), busy = now->process_busy[process], ops_end = 0;
    run_orders(now, node, edit);
    for (uint32_t i = 0; i < node->op_count && !(edit & GW_EDIT_NO_OP); i++)
        ops_end = max_u64(ops_end, run_op(now, &now->replay->ops[node->op_first + i], begin, edit));
    now->process_busy[process] = max_u64(busy, ops_end);
    uint64_t until = waited_until(now, node, ops_end, busy);
    uint64_t from = max_u64(begin, until > node->early_ns ? until - node->early_ns : 0);
    uint64_t end = from + own_after(now, node, from > begin + GW_SLEEP_LEAST_NS);
    if (edit & GW_EDIT_QUICK)
        end = begin + min_u64(node->own_ns, now->replay->quick_ns);
    if (edit & GW_EDIT_DROP)
        end = begin;
    now->node_begin[index] = begin;
    now->node_end[index] = end;
    now->thread_end[node->thread] = end;
    now->thread_seen[node->thread] = true;
    now->process_end[process] = max_u64(now->process_end[process], end);
}

static void release(struct state *now)
{
    free(now->node_begin);
    free(now->stream_end);
    free(now->event_ns);
    free(now->thread_seen);
    free(now->legacy);
}

static int prepare(struct state *now)
{
    const struct gw_model *model = now->model;
    size_t nodes = now->replay->nodes_count, streams = model->streams_count, devices = model->devices_count,
           threads = model->threads_count, processes = model->processes_count;
    now->node_begin = calloc(2 * nodes + 1, sizeof(uint64_t));
    now->stream_end = calloc(streams + 3 * devices + threads + 2 * processes + 1, sizeof(uint64_t));
    now->event_ns = calloc(now->replay->events_count + 1, sizeof(uint64_t));
    now->thread_seen = calloc(threads + 1, sizeof(bool));
    now->legacy = malloc((devices + 1) * sizeof(uint32_t));
    if (!now->node_begin || !now->stream_end || !now->event_ns || !now->thread_seen || !now->legacy)
        return -ENOMEM;
    now->node_end = now->node_begin + nodes;
    now->blocking_end = now->stream_end + streams;
    now->engine_free = now->blocking_end + devices;
    now->thread_end = now->engine_free + 2 * devices;
    now->process_busy = now->thread_end + threads;
    now->process_end = now->process_busy + processes;
    memset(now->legacy, 0xff, (devices + 1) * sizeof(uint32_t));
    for (uint32_t s = 0; s < streams; s++) {
        const struct gw_stream *stream = &model->streams[s];
        uint64_t end = now->replay->stream_begin_ns[s];
        uint32_t process = model->devices[stream->device].process;
        now->stream_end[s] = end;
        now->process_busy[process] = max_u64(now->process_busy[process], end);
        if (stream->flags & GW_STREAM_LEGACY)
            now->legacy[stream->device] = s;
        if (!(stream->flags & GW_STREAM_NON_BLOCKING))
            now->blocking_end[stream->device] = max_u64(now->blocking_end[stream->device], end);
    }
    return 0;
}

/* Host time of a boundary: the begin of the node there, or the end of everything of the process. */
static uint64_t host_boundary(const struct state *now, uint32_t node, uint32_t process)
{
    if (node < now->replay->nodes_count)
        return now->node_begin[node];
    return max_u64(now->process_end[process], now->process_busy[process]);
}

/* Begins and ends of phases count work under way on the devices: a host that runs ahead has not saved it. */
struct phase_time {
    uint64_t begin_ns, end_ns;
};

static void note_boundaries(const struct state *now, uint32_t node, struct phase_time *times)
{
    const struct gw_replay *replay = now->replay;
    for (size_t p = 0; p < replay->phases_count; p++) {
        const struct gw_replay_phase *phase = &replay->phases[p];
        uint64_t busy = now->process_busy[phase->process];
        if (phase->node_first == node)
            times[p].begin_ns = max_u64(host_boundary(now, node, phase->process), busy);
        if (phase->node_end == node)
            times[p].end_ns = max_u64(host_boundary(now, node, phase->process), busy);
    }
}

static void store_steps(const struct state *now, uint64_t *ret_steps_ns)
{
    const struct gw_replay *replay = now->replay;
    size_t phase = 0, in_phase = 0, used = 0;
    for (size_t s = 0; s < now->model->steps_count; s++) {
        uint32_t node = replay->step_nodes[s];
        if (node == GW_NONE)
            continue;
        const struct gw_replay_phase *p = &replay->phases[phase];
        bool last = ++in_phase == p->steps;
        uint32_t next = last ? p->node_end : replay->step_nodes[s + 1];
        uint64_t from = host_boundary(now, node, p->process), to = host_boundary(now, next, p->process);
        ret_steps_ns[used++] = to > from ? to - from : 0;
        if (last) {
            phase++;
            in_phase = 0;
        }
    }
}

int gw_replay_run(const struct gw_replay *replay, const uint8_t *edits, double *ret_mean_ns, uint64_t *ret_steps_ns)
{
    struct state now = {.replay = replay, .model = replay->host->model, .edits = edits};
    struct phase_time *times = calloc(replay->phases_count + 1, sizeof *times);
    uint8_t *boundary = calloc(replay->nodes_count + 1, 1);
    double total = 0;
    int ret = -ENOMEM;
    if (!times || !boundary || prepare(&now) < 0)
        goto end;
    for (size_t p = 0; p < replay->phases_count; p++)
        boundary[replay->phases[p].node_first] = boundary[replay->phases[p].node_end] = 1;
    for (uint32_t i = 0; i < replay->nodes_count; i++) {
        if (boundary[i]) {
            const struct gw_replay_node *node = &replay->nodes[i];
            now.node_begin[i] = node_begin(&now, node, edits ? edits[node->call] : 0);
            note_boundaries(&now, i, times);
        }
        run_node(&now, i);
    }
    note_boundaries(&now, (uint32_t)replay->nodes_count, times);
    for (size_t p = 0; p < replay->phases_count; p++)
        total += (double)(times[p].end_ns > times[p].begin_ns ? times[p].end_ns - times[p].begin_ns : 0);
    if (ret_steps_ns)
        store_steps(&now, ret_steps_ns);
    *ret_mean_ns = total / replay->steps;
    ret = 0;
end:
    release(&now);
    free(times);
    free(boundary);
    return ret;
}
