#include "analyzer/verdicts/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An exchange: how many of its ranks have arrived, and when the last of them did. */
struct exchange {
    uint64_t latest_ns;
    uint32_t arrived;
};

/* How far an operation is. */
enum op_state { OP_AHEAD = 0, OP_ARRIVED, OP_OVER };

/* A lane and the node it is at. */
struct lane {
    size_t at, end; /* into lane_nodes */
    bool begun;     /* the node there has begun; it is held up by other ranks */
    bool forced;    /* what it waits for waits for it: it goes on as measured */
    uint64_t begin_ns, busy_before_ns;
    uint64_t busy_ns, end_ns; /* of all work, and of all calls that enqueue or await some, of the lane so far */
};

/* The replayed run so far; all times are the replay's own. */
struct state {
    const struct gw_replay *replay;
    const struct gw_model *model;
    const struct gw_repair *repair;
    uint64_t *node_begin, *node_end;
    uint64_t *reached; /* by node: when its lane is through with what comes before it; then by lane: with all */
    uint64_t *stream_end, *blocking_end, *engine_free, *event_ns, *thread_end;
    uint64_t *beside_end; /* by device: of communication on a stream of its own */
    bool *thread_seen;
    uint32_t *legacy;
    uint32_t *held; /* by device: the pass in which an operation was found to be held up */
    uint32_t pass;
    struct lane *lanes;
    struct exchange *exchanges;
    uint8_t *op_states;  /* enum op_state */
    uint64_t *op_starts; /* of those that have arrived */
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

static uint8_t op_edit(const struct state *now, uint32_t op)
{
    return now->repair && now->repair->ops ? now->repair->ops[op] : 0;
}

static uint64_t op_duration(const struct state *now, const struct gw_replay_op *entry, uint8_t edit)
{
    const struct gw_op *op = &now->model->ops[entry->op];
    if (now->repair && now->repair->op_ns && now->repair->op_ns[entry->op] != GW_TIME_UNKNOWN)
        return now->repair->op_ns[entry->op];
    if (entry->leg_count)
        return entry->transfer_ns;
    if (!(edit & GW_EDIT_PINNED) || (op->kind != GW_OP_H2D && op->kind != GW_OP_D2H))
        return entry->duration_ns;
    double pinned = (double)op->size_bytes / now->replay->pinned[op->kind == GW_OP_D2H].gbps;
    return min_u64(entry->duration_ns, (uint64_t)pinned);
}

static uint64_t *engine_of(struct state *now, const struct gw_op *op)
{
    size_t at = 2 * now->model->streams[op->stream].device + (op->kind == GW_OP_D2H);
    bool is_copy = op->kind == GW_OP_H2D || op->kind == GW_OP_D2H;
    return is_copy && now->replay->engine_serial[at] ? &now->engine_free[at] : NULL;
}

static uint64_t op_start(struct state *now, const struct gw_replay_op *entry, uint64_t enqueue_ns, uint8_t edit)
{
    const struct gw_op *op = &now->model->ops[entry->op];
    uint32_t device = now->model->streams[op->stream].device;
    uint64_t ready = edit & GW_EDIT_OTHER_STREAM ? 0 : stream_ready(now, op->stream, !(edit & GW_EDIT_NO_ORDER));
    uint64_t *engine = engine_of(now, op);
    if (engine)
        ready = max_u64(ready, *engine);
    if (op_edit(now, entry->op) & (GW_OP_EDIT_BESIDE | GW_OP_EDIT_JOIN))
        ready = max_u64(ready, now->beside_end[device]);
    if (entry->held_by != GW_NONE && !(edit & GW_EDIT_NO_ORDER) && now->op_states[entry->held_by] == OP_OVER)
        ready = max_u64(ready, now->op_starts[entry->held_by]);
    uint64_t lag = edit & GW_EDIT_QUICK ? min_u64(entry->lag_ns, now->replay->latency_ns) : entry->lag_ns;
    if (entry->early_ns && entry->held_by != GW_NONE) /* a branch; whole work where what it followed does not run */
        ready = now->op_starts[entry->held_by] ? now->op_starts[entry->held_by] : ready;
    else
        ready = ready > entry->early_ns ? ready - entry->early_ns : 0;
    return max_u64(enqueue_ns + lag, ready + entry->extra_ns);
}

static void end_op(struct state *now, const struct gw_replay_op *entry, uint64_t end)
{
    const struct gw_op *op = &now->model->ops[entry->op];
    const struct gw_stream *stream = &now->model->streams[op->stream];
    uint64_t *engine = engine_of(now, op);
    if (op_edit(now, entry->op) & GW_OP_EDIT_BESIDE) {
        now->beside_end[stream->device] = max_u64(now->beside_end[stream->device], end);
        return;
    }
    now->stream_end[op->stream] = max_u64(now->stream_end[op->stream], end);
    if (!(stream->flags & GW_STREAM_NON_BLOCKING))
        now->blocking_end[stream->device] = max_u64(now->blocking_end[stream->device], end);
    if (engine)
        *engine = max_u64(*engine, end);
}

/* When the last rank arrives in what the operation carries out; GW_TIME_UNKNOWN while one has not. */
static uint64_t last_arrival(const struct state *now, const struct gw_replay_op *entry)
{
    uint64_t latest = 0;
    for (uint32_t i = 0; i < entry->leg_count; i++) {
        uint32_t number = now->replay->legs[entry->leg_first + i];
        if (now->exchanges[number].arrived < now->replay->exchanges[number])
            return GW_TIME_UNKNOWN;
        latest = max_u64(latest, now->exchanges[number].latest_ns);
    }
    return latest;
}

static void arrive(struct state *now, const struct gw_replay_op *entry, uint64_t start_ns)
{
    for (uint32_t i = 0; i < entry->leg_count; i++) {
        struct exchange *exchange = &now->exchanges[now->replay->legs[entry->leg_first + i]];
        exchange->latest_ns = max_u64(exchange->latest_ns, start_ns);
        exchange->arrived++;
    }
}

/* Runs one operation as far as it goes. False when it is held up: some rank has not arrived. */
static bool run_op(struct state *now, struct lane *lane, uint32_t place, uint8_t edit)
{
    const struct gw_replay_op *entry = &now->replay->ops[place];
    const struct gw_op *op = &now->model->ops[entry->op];
    uint64_t end = 0;
    if (edit & GW_EDIT_NO_OP || op_edit(now, entry->op) & GW_OP_EDIT_DROP) {
        arrive(now, entry, 0);
        now->op_states[place] = OP_OVER;
        return true;
    }
    if (now->op_states[place] == OP_AHEAD) {
        now->op_starts[place] = op_start(now, entry, lane->begin_ns, edit);
        arrive(now, entry, now->op_starts[place]);
        now->op_states[place] = OP_ARRIVED;
    }
    if (entry->leg_count) {
        uint64_t arrival = last_arrival(now, entry);
        if (arrival == GW_TIME_UNKNOWN && !lane->forced)
            return false;
        end = arrival == GW_TIME_UNKNOWN ? now->op_starts[place] + op->end_ns - op->start_ns
                                         : arrival + op_duration(now, entry, edit);
    } else {
        end = now->op_starts[place] + op_duration(now, entry, edit);
    }
    end = max_u64(end, now->op_starts[place]);
    end_op(now, entry, end);
    lane->busy_ns = max_u64(lane->busy_ns, end);
    now->op_starts[place] = end; /* from now on its end */
    now->op_states[place] = OP_OVER;
    return true;
}

/* Runs the node's operations as far as they go: one that is held up holds up the later ones of its device. Stores the
 * end of the last; false while any is held up. */
static bool run_ops(struct state *now, struct lane *lane, const struct gw_replay_node *node, uint8_t edit,
                    uint64_t *ret_end)
{
    bool all = true;
    uint64_t end = 0;
    now->pass++;
    for (uint32_t i = 0; i < node->op_count; i++) {
        uint32_t place = node->op_first + i;
        uint32_t device = now->model->streams[now->model->ops[now->replay->ops[place].op].stream].device;
        if (now->op_states[place] != OP_OVER && (now->held[device] == now->pass || !run_op(now, lane, place, edit))) {
            now->held[device] = now->pass;
            all = false;
            continue;
        }
        end = max_u64(end, now->op_starts[place]);
    }
    *ret_end = end;
    return all;
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

static uint8_t call_edit(const struct state *now, const struct gw_replay_node *node)
{
    return now->repair && now->repair->calls ? now->repair->calls[node->call] : 0;
}

static struct gw_host_time host_time(const struct state *now, uint32_t index)
{
    const struct gw_replay_node *node = &now->replay->nodes[index];
    if (now->repair && now->repair->nodes)
        return now->repair->nodes[index];
    return (struct gw_host_time){node->think_ns, node->blocked_ns, node->own_ns};
}

static uint64_t node_begin(const struct state *now, uint32_t index)
{
    const struct gw_replay_node *node = &now->replay->nodes[index];
    const struct gw_host_time time = host_time(now, index);
    uint8_t edit = call_edit(now, node);
    bool is_handed = node->handed_by != GW_NONE && now->node_end[node->handed_by];
    if (!now->thread_seen[node->thread])
        return is_handed ? now->node_end[node->handed_by] + node->handed_ns : node->begin_ns;
    uint64_t think = edit & GW_EDIT_NO_THINK ? 0 : time.think_ns;
    uint64_t begin = now->thread_end[node->thread] + think;
    if (edit & GW_EDIT_NO_BLOCK)
        return begin;
    if (!is_handed)
        return begin + time.blocked_ns;
    return max_u64(begin, now->node_end[node->handed_by] + node->handed_ns);
}

/* The call's own time after what it waited for. One that has to sleep now, and did not, wakes up as others do. */
static uint64_t own_after(const struct state *now, const struct gw_replay_node *node, uint64_t own_ns, bool waits)
{
    uint64_t wake = now->replay->wake_ns;
    if (node->wait == GW_WAIT_FOR_NOTHING || waits == node->waited)
        return own_ns;
    return waits ? max_u64(own_ns, wake) : own_ns - min_u64(own_ns, wake);
}

/* Runs the node the lane is at. False when it is held up: by ranks that have not arrived, or by a thread of another
 * lane that wakes it. */
static bool run_node(struct state *now, struct lane *lane, uint32_t index)
{
    const struct gw_replay_node *node = &now->replay->nodes[index];
    uint8_t edit = call_edit(now, node);
    if (!lane->begun) {
        if (node->handed_by != GW_NONE && !now->node_end[node->handed_by] && !lane->forced)
            return false;
        lane->begin_ns = now->node_begin[index] = node_begin(now, index);
        lane->busy_before_ns = lane->busy_ns;
        lane->begun = true;
        run_orders(now, node, edit);
    }
    uint64_t begin = lane->begin_ns, ops_end = 0;
    if (!run_ops(now, lane, node, edit, &ops_end))
        return false;
    uint64_t until = waited_until(now, node, ops_end, lane->busy_before_ns);
    uint64_t from = max_u64(begin, until > node->early_ns ? until - node->early_ns : 0);
    uint64_t own_ns = host_time(now, index).own_ns;
    uint64_t end = from + own_after(now, node, own_ns, from > begin + GW_SLEEP_LEAST_NS);
    if (edit & GW_EDIT_QUICK)
        end = begin + min_u64(own_ns, now->replay->quick_ns);
    if (edit & GW_EDIT_DROP)
        end = begin;
    now->node_end[index] = end;
    now->thread_end[node->thread] = end;
    now->thread_seen[node->thread] = true;
    /* Threads that only look at the GPU now and then, as XLA's do, do not prolong a step. */
    if (node->op_count || node->wait != GW_WAIT_FOR_NOTHING)
        lane->end_ns = max_u64(lane->end_ns, end);
    lane->begun = lane->forced = false;
    lane->at++;
    return true;
}

static void release(struct state *now)
{
    free(now->node_begin);
    free(now->stream_end);
    free(now->event_ns);
    free(now->thread_seen);
    free(now->legacy);
    free(now->lanes);
    free(now->exchanges);
    free(now->op_states);
    free(now->op_starts);
}

static int allocate(struct state *now)
{
    const struct gw_model *model = now->model;
    const struct gw_replay *replay = now->replay;
    size_t nodes = replay->nodes_count, streams = model->streams_count, devices = model->devices_count;
    now->node_begin = calloc(3 * nodes + replay->lanes_count + 1, sizeof(uint64_t));
    now->stream_end = calloc(streams + 4 * devices + model->threads_count + 1, sizeof(uint64_t));
    now->event_ns = calloc(replay->events_count + 1, sizeof(uint64_t));
    now->thread_seen = calloc(model->threads_count + 1, sizeof(bool));
    now->legacy = calloc(2 * devices + 1, sizeof(uint32_t));
    now->lanes = calloc(replay->lanes_count + 1, sizeof *now->lanes);
    now->exchanges = calloc(replay->exchanges_count + 1, sizeof *now->exchanges);
    now->op_states = calloc(replay->ops_count + 1, 1);
    now->op_starts = calloc(replay->ops_count + 1, sizeof(uint64_t));
    if (!now->node_begin || !now->stream_end || !now->event_ns || !now->thread_seen || !now->legacy || !now->lanes ||
        !now->exchanges || !now->op_states || !now->op_starts)
        return -ENOMEM;
    now->node_end = now->node_begin + nodes;
    now->reached = now->node_end + nodes;
    now->blocking_end = now->stream_end + streams;
    now->engine_free = now->blocking_end + devices;
    now->beside_end = now->engine_free + 2 * devices;
    now->thread_end = now->beside_end + devices;
    now->held = now->legacy + devices;
    return 0;
}

static int prepare(struct state *now)
{
    const struct gw_model *model = now->model;
    const struct gw_replay *replay = now->replay;
    if (allocate(now) < 0)
        return -ENOMEM;
    for (size_t d = 0; d < model->devices_count; d++)
        now->legacy[d] = GW_NONE;
    for (uint32_t l = 0; l < replay->lanes_count; l++)
        now->lanes[l] = (struct lane){.at = replay->lane_first[l], .end = replay->lane_first[l + 1]};
    for (uint32_t s = 0; s < model->streams_count; s++) {
        const struct gw_stream *stream = &model->streams[s];
        uint64_t end = replay->stream_begin_ns[s], *busy = &now->lanes[replay->device_lane[stream->device]].busy_ns;
        now->stream_end[s] = end;
        *busy = max_u64(*busy, end);
        if (stream->flags & GW_STREAM_LEGACY)
            now->legacy[stream->device] = s;
        if (!(stream->flags & GW_STREAM_NON_BLOCKING))
            now->blocking_end[stream->device] = max_u64(now->blocking_end[stream->device], end);
    }
    return 0;
}

/* ---- steps ---- */

/* When the lane is through with what comes before the node: begins and ends of steps count work under way on the
 * devices, since a host that runs ahead has not saved it, and makes its own steps in bursts. */
static uint64_t reached_ns(const struct gw_replay *replay, const uint64_t *reached, uint32_t node, uint32_t lane)
{
    return reached[node < replay->nodes_count ? node : replay->nodes_count + lane];
}

static void store_steps(const struct gw_replay *replay, const uint64_t *reached, uint64_t *ret_steps_ns)
{
    size_t phase = 0, in_phase = 0, used = 0;
    for (size_t s = 0; s < replay->host->model->steps_count; s++) {
        uint32_t node = replay->step_nodes[s];
        if (node == GW_NONE)
            continue;
        const struct gw_replay_phase *p = &replay->phases[phase];
        bool last = ++in_phase == p->steps;
        uint32_t next = last ? p->node_end : replay->step_nodes[s + 1];
        uint64_t from = reached_ns(replay, reached, node, p->lane), to = reached_ns(replay, reached, next, p->lane);
        ret_steps_ns[used++] = to > from ? to - from : 0;
        if (last) {
            phase++;
            in_phase = 0;
        }
    }
}

int gw_replay_measured_steps(const struct gw_replay *replay, uint64_t *ret_steps_ns)
{
    const struct gw_model *model = replay->host->model;
    uint64_t *reached = calloc(replay->nodes_count + replay->lanes_count + 1, sizeof *reached);
    if (!reached)
        return -ENOMEM;
    for (uint32_t s = 0; s < model->streams_count; s++) {
        uint64_t *busy = &reached[replay->nodes_count + replay->device_lane[model->streams[s].device]];
        *busy = max_u64(*busy, replay->stream_begin_ns[s]);
    }
    for (uint32_t l = 0; l < replay->lanes_count; l++) {
        uint64_t *busy = &reached[replay->nodes_count + l], end_ns = 0;
        for (uint32_t i = replay->lane_first[l]; i < replay->lane_first[l + 1]; i++) {
            const struct gw_replay_node *node = &replay->nodes[replay->lane_nodes[i]];
            reached[replay->lane_nodes[i]] = max_u64(node->begin_ns, *busy);
            for (uint32_t o = 0; o < node->op_count; o++)
                *busy = max_u64(*busy, model->ops[replay->ops[node->op_first + o].op].end_ns);
            if (node->op_count || node->wait != GW_WAIT_FOR_NOTHING)
                end_ns = max_u64(end_ns, model->calls[node->call].end_ns);
        }
        *busy = max_u64(*busy, end_ns);
    }
    store_steps(replay, reached, ret_steps_ns);
    free(reached);
    return 0;
}

/* ---- the run ---- */

/* Runs the lane until it is held up or over. True when it got any further. */
static bool run_lane(struct state *now, struct lane *lane)
{
    size_t from = lane->at;
    while (lane->at < lane->end) {
        uint32_t index = now->replay->lane_nodes[lane->at];
        if (!lane->begun)
            now->reached[index] = max_u64(node_begin(now, index), lane->busy_ns);
        if (!run_node(now, lane, index))
            break;
    }
    return lane->at > from;
}

/* The lane that was held up first in the measured run, NULL when all are over. */
static struct lane *first_held(const struct state *now)
{
    struct lane *first = NULL;
    uint32_t first_node = GW_NONE;
    for (uint32_t l = 0; l < now->replay->lanes_count; l++) {
        struct lane *lane = &now->lanes[l];
        if (lane->at == lane->end || now->replay->lane_nodes[lane->at] > first_node)
            continue;
        first_node = now->replay->lane_nodes[lane->at];
        first = lane;
    }
    return first;
}

/* Lanes run one after the other, each as far as the others' arrivals let it. Where all wait for each other (a call can
 * enqueue an exchange long before it has to be done) the first goes on as measured. */
static void run_lanes(struct state *now)
{
    for (;;) {
        bool any = false;
        for (uint32_t l = 0; l < now->replay->lanes_count; l++)
            any |= run_lane(now, &now->lanes[l]);
        if (any)
            continue;
        struct lane *lane = first_held(now);
        if (!lane)
            return;
        lane->forced = true;
    }
}

int gw_replay_run(const struct gw_replay *replay, const struct gw_repair *repair, double *ret_mean_ns,
                  uint64_t *ret_steps_ns)
{
    struct state now = {.replay = replay, .model = replay->host->model, .repair = repair};
    double total = 0;
    int ret = -ENOMEM;
    if (prepare(&now) < 0)
        goto end;
    run_lanes(&now);
    for (uint32_t l = 0; l < replay->lanes_count; l++)
        now.reached[replay->nodes_count + l] = max_u64(now.lanes[l].end_ns, now.lanes[l].busy_ns);
    for (size_t p = 0; p < replay->phases_count; p++) {
        const struct gw_replay_phase *phase = &replay->phases[p];
        uint64_t from = reached_ns(replay, now.reached, phase->node_first, phase->lane);
        uint64_t to = reached_ns(replay, now.reached, phase->node_end, phase->lane);
        total += (double)(to > from ? to - from : 0);
    }
    if (ret_steps_ns)
        store_steps(replay, now.reached, ret_steps_ns);
    *ret_mean_ns = total / replay->steps;
    ret = 0;
end:
    release(&now);
    return ret;
}
