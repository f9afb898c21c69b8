#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/map.h"
#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/gaps.h"
#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/replay.h"
#include "analyzer/verdicts/wakers.h"

/* A call that ends this close before what it may wait for is still taken to wait: times on the device have an error. */
#define WAIT_TOLERANCE_NS 20000u
/* Threads that hand work to each other sleep longer than this. */
#define HANDOVER_LEAST_NS 20000u
/* A call that ended longer ago, and longer ago than this part of the sleep, did not end it. */
#define HANDOVER_MOST_NS 2000000u
#define HANDOVER_MOST_PART 8u

/* What an operation of a graph followed is looked for among this many before it. */
#define BRANCHES_MOST 64u

/* The state of the measured run while nodes are made in order: when each stream's work ends, and so on. */
struct measured {
    uint64_t *stream_end, *blocking_end, *engine_free;
    uint64_t *event_ns;
    uint64_t *thread_end;                   /* end of the thread's latest call */
    uint32_t *thread_node, *thread_earlier; /* the latest node of each thread, and the one before it */
    uint64_t *process_busy;                 /* end of the latest operation, by process */
    uint32_t *legacy;                       /* legacy stream of each device, or GW_NONE */
};

struct builder {
    const struct gw_host *host;
    const struct gw_model *model;
    struct gw_replay *replay;
    struct measured now;
    struct gw_map events; /* handle, process → number */
    const struct gw_call_ops *call_ops;
    size_t node_room, op_room, order_room, phase_room;
    size_t event_room;
    struct gw_interval window;
    const struct gw_lane_steps *steps;
    struct gw_interval *lane_windows; /* by lane: the same steps as it makes them */
    struct gw_wakers wakers;
    bool launches_wait;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- events by handle ---- */

/* The number of a process's event, given when it is new. Returns 0 or -ENOMEM. */
static int event_number(struct builder *b, uint32_t process, uint64_t handle, uint32_t *ret_number)
{
    const uint32_t *known = gw_map_find(&b->events, handle, process);
    const size_t count = b->events.count;
    if (known) {
        *ret_number = *known;
        return 0;
    }
    if (!GW_ARRAY_RESERVE(b->now.event_ns, count, &b->event_room) ||
        gw_map_insert(&b->events, handle, process, (uint32_t)count) < 0)
        return -ENOMEM;
    b->now.event_ns[count] = 0;
    *ret_number = (uint32_t)count;
    return 0;
}

/* ---- what holds an operation back, in the measured run ---- */

static uint64_t stream_ready(const struct builder *b, uint32_t stream)
{
    const struct gw_stream *s = &b->model->streams[stream];
    uint64_t ready = b->now.stream_end[stream];
    if (s->flags & GW_STREAM_LEGACY)
        return max_u64(ready, b->now.blocking_end[s->device]);
    if (!(s->flags & GW_STREAM_NON_BLOCKING) && b->now.legacy[s->device] != GW_NONE)
        return max_u64(ready, b->now.stream_end[b->now.legacy[s->device]]);
    return ready;
}

static uint64_t *engine_of(uint64_t *engines, uint32_t device, const struct gw_op *op)
{
    if (op->kind == GW_OP_H2D)
        return &engines[2 * device];
    return op->kind == GW_OP_D2H ? &engines[2 * device + 1] : NULL;
}

/* Accounts for an operation's measured end. */
static void pass_op(struct builder *b, const struct gw_op *op)
{
    if (op->stream == GW_NONE || op->end_ns == GW_TIME_UNKNOWN)
        return;
    const struct gw_stream *stream = &b->model->streams[op->stream];
    uint64_t *engine = engine_of(b->now.engine_free, stream->device, op);
    uint64_t *busy = &b->now.process_busy[b->model->devices[stream->device].process];
    b->now.stream_end[op->stream] = max_u64(b->now.stream_end[op->stream], op->end_ns);
    if (!(stream->flags & GW_STREAM_NON_BLOCKING))
        b->now.blocking_end[stream->device] = max_u64(b->now.blocking_end[stream->device], op->end_ns);
    if (engine)
        *engine = max_u64(*engine, op->end_ns);
    *busy = max_u64(*busy, op->end_ns);
}

/* Whether a kernel waited at last for nothing but its own launch: a driver submits it at the end of the call, whatever
 * it does before, such as to load the kernel's code. */
static bool is_submitted_late(const struct builder *b, const struct gw_replay_node *node, const struct gw_op *op,
                              uint64_t ready)
{
    const uint64_t end = b->model->calls[node->call].end_ns, latency_ns = b->replay->latency_ns;
    return (op->kind == GW_OP_KERNEL || op->kind == GW_OP_GRAPH) && ready < end && ready + latency_ns < op->start_ns &&
           op->start_ns <= end + latency_ns;
}

/* Branches of a graph bear the name of one stream: what began before that stream was free followed another operation of
 * its launch, the one that had ended last. Looked for among the latest ones; GW_NONE: it began with the launch. */
static uint32_t branch_of(const struct builder *b, const struct gw_replay_node *node, const struct gw_op *op)
{
    const struct gw_replay *replay = b->replay;
    uint32_t branch = GW_NONE;
    uint64_t latest_ns = 0;
    for (uint32_t i = 0; i < node->op_count && i < BRANCHES_MOST; i++) {
        const uint32_t place = (uint32_t)replay->ops_count - 1 - i;
        const uint64_t end_ns = b->model->ops[replay->ops[place].op].end_ns;
        if (end_ns > latest_ns && end_ns <= op->start_ns) {
            latest_ns = end_ns;
            branch = place;
        }
    }
    return branch;
}

static int add_op(struct builder *b, struct gw_replay_node *node, uint32_t index)
{
    const struct gw_op *op = &b->model->ops[index];
    if (op->stream == GW_NONE || op->flags & GW_OP_UNTIMED || op->start_ns == GW_TIME_UNKNOWN)
        return 0;
    struct gw_replay *replay = b->replay;
    uint64_t latency_ns = replay->latency_ns;
    uint32_t device = b->model->streams[op->stream].device;
    uint64_t ready = stream_ready(b, op->stream);
    const uint64_t *engine = engine_of(b->now.engine_free, device, op);
    if (engine && replay->engine_serial[2 * device + (op->kind == GW_OP_D2H)])
        ready = max_u64(ready, *engine);
    struct gw_replay_op entry = {.op = index, .held_by = GW_NONE, .duration_ns = op->end_ns - op->start_ns};
    entry.early_ns = op->start_ns < ready ? ready - op->start_ns : 0;
    uint64_t enqueue = node->begin_ns, waited = op->start_ns > enqueue ? op->start_ns - enqueue : 0;
    if (enqueue + latency_ns >= ready || is_submitted_late(b, node, op, ready)) {
        entry.lag_ns = waited;
    } else {
        entry.lag_ns = waited < latency_ns ? waited : latency_ns;
        entry.extra_ns = op->start_ns > ready ? op->start_ns - ready : 0;
    }
    if (entry.early_ns && (entry.held_by = branch_of(b, node, op)) != GW_NONE) {
        entry.lag_ns = waited < latency_ns ? waited : latency_ns;
        entry.extra_ns = op->start_ns - b->model->ops[replay->ops[entry.held_by].op].end_ns;
    }
    if (!GW_ARRAY_RESERVE(replay->ops, replay->ops_count, &b->op_room))
        return -ENOMEM;
    replay->ops[replay->ops_count++] = entry;
    node->op_count++;
    pass_op(b, op);
    return 0;
}

/* ---- what a call waits for ---- */

struct details {
    const struct gw_copy *copy;
    const struct gw_order *wait; /* synchronisation */
    bool releases;               /* memory, which CUDA does when the device has nothing more to do */
    uint32_t wait_event;
};

static int add_order(struct builder *b, struct gw_replay_node *node, const struct gw_order *order,
                     struct details *found)
{
    struct gw_replay *replay = b->replay;
    struct gw_order copy = *order;
    uint32_t number = 0, process = b->model->threads[node->thread].process;
    int ret = 0;
    switch ((enum gw_order_kind)order->what) {
    case GW_ORDER_EVENT_RECORD:
    case GW_ORDER_STREAM_WAIT_EVENT:
        if (order->stream == GW_NONE)
            return 0;
        if ((ret = event_number(b, process, order->event, &number)) < 0)
            return ret;
        if (!GW_ARRAY_RESERVE(replay->orders, replay->orders_count, &b->order_room))
            return -ENOMEM;
        copy.event = number;
        replay->orders[replay->orders_count++] = copy;
        node->order_count++;
        if (order->what == GW_ORDER_EVENT_RECORD)
            b->now.event_ns[number] = stream_ready(b, order->stream);
        else
            b->now.stream_end[order->stream] = max_u64(b->now.stream_end[order->stream], b->now.event_ns[number]);
        return 0;
    case GW_ORDER_EVENT_SYNC:
        ret = event_number(b, process, order->event, &found->wait_event);
        found->wait = order;
        return ret;
    case GW_ORDER_STREAM_SYNC:
    case GW_ORDER_DEVICE_SYNC:
        found->wait = order;
        return 0;
    case GW_ORDER_STREAM_CREATE:
    case GW_ORDER_STREAM_DESTROY:
    case GW_ORDER_STREAM_QUERY:
    case GW_ORDER_EVENT_CREATE:
    case GW_ORDER_EVENT_DESTROY:
    case GW_ORDER_EVENT_QUERY:
    case GW_ORDER_HOST_FUNCTION:
        break;
    }
    return 0;
}

/* Place of a call among those of its thread, which are in the order of the model's. */
static uint32_t place_in_thread(const struct gw_model *model, const struct gw_thread *thread, uint32_t call)
{
    const uint32_t *calls = model->thread_calls + thread->call_first;
    const uint32_t low = GW_FIRST_NOT(0, thread->call_count, middle, calls[middle] < call);
    return low;
}

static bool waits_to_release(const struct gw_memory *memory)
{
    const uint32_t kind = memory->kind & ~(uint32_t)GW_MEMORY_FREE;
    return memory->kind >= GW_MEMORY_FREE && memory->ptr && kind != GW_MEMORY_ASYNC && kind < GW_MEMORY_POOL;
}

/* The typed arguments of a call and of those nested in it: calls that begin before it ends, on its thread. */
static int collect_details(struct builder *b, struct gw_replay_node *node, struct details *found)
{
    const struct gw_model *model = b->model;
    const struct gw_call *outer = &model->calls[node->call];
    const struct gw_thread *thread = &model->threads[node->thread];
    int ret = 0;
    for (uint32_t at = place_in_thread(model, thread, node->call); at < thread->call_count && ret == 0; at++) {
        const uint32_t index = model->thread_calls[thread->call_first + at];
        const struct gw_call *call = &model->calls[index];
        if (call->begin_ns > outer->end_ns || (index != node->call && call->depth <= 1))
            break;
        if (call->detail == GW_NONE || call->flags & GW_CALL_CAPTURED)
            continue;
        if (call->detail_kind == GW_DETAIL_COPY)
            found->copy = &model->copies[call->detail];
        else if (call->detail_kind == GW_DETAIL_ORDER)
            ret = add_order(b, node, &model->orders[call->detail], found);
        else if (call->detail_kind == GW_DETAIL_MEMORY)
            found->releases = waits_to_release(&model->memories[call->detail]);
    }
    return ret;
}

static uint64_t ops_end(const struct builder *b, const struct gw_replay_node *node)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < node->op_count; i++)
        end = max_u64(end, b->model->ops[b->replay->ops[node->op_first + i].op].end_ns);
    return end;
}

/* Decides what the call waited for; busy: end of all work enqueued before it on its process. */
static void find_wait(const struct builder *b, struct gw_replay_node *node, const struct details *found, uint64_t busy)
{
    const struct gw_call *call = &b->model->calls[node->call];
    enum gw_call_class cls = gw_call_class(call->function);
    uint64_t until = 0;
    bool pageable = found->copy && (found->copy->blocking || found->copy->src_kind == GW_HOST_PAGEABLE ||
                                    found->copy->dst_kind == GW_HOST_PAGEABLE);
    node->wait = GW_WAIT_FOR_NOTHING;
    if (cls == GW_CALL_SYNC && found->wait && found->wait->what == GW_ORDER_EVENT_SYNC) {
        node->wait = GW_WAIT_FOR_EVENT;
        node->target = found->wait_event;
        until = b->now.event_ns[node->target];
    } else if (cls == GW_CALL_SYNC && found->wait && found->wait->what == GW_ORDER_STREAM_SYNC &&
               found->wait->stream != GW_NONE) {
        node->wait = GW_WAIT_FOR_STREAM;
        node->target = found->wait->stream;
        until = stream_ready(b, node->target);
    } else if (cls == GW_CALL_SYNC) {
        node->wait = GW_WAIT_FOR_DEVICES;
        until = busy;
    } else if (node->op_count && (cls == GW_CALL_COPY ? pageable : cls == GW_CALL_LAUNCH && b->launches_wait)) {
        node->wait = GW_WAIT_FOR_OPS;
        until = ops_end(b, node);
    } else if ((cls == GW_CALL_ALLOC || cls == GW_CALL_COMPILE) &&
               (found->releases || busy > call->begin_ns + GW_WAIT_LEAST_NS)) {
        /* A release waits, though it may have had nothing to wait for: without the wait before it, it would. */
        node->wait = GW_WAIT_FOR_DEVICES;
        until = busy;
    }
    if (node->wait != GW_WAIT_FOR_NOTHING && call->end_ns + WAIT_TOLERANCE_NS < until)
        node->wait = GW_WAIT_FOR_NOTHING;
    uint64_t from = node->wait == GW_WAIT_FOR_NOTHING ? call->begin_ns : max_u64(call->begin_ns, until);
    node->own_ns = call->end_ns > from ? call->end_ns - from : 0;
    node->waited = node->wait != GW_WAIT_FOR_NOTHING && until > call->begin_ns + GW_SLEEP_LEAST_NS;
    node->early_ns = from > call->end_ns ? from - call->end_ns : 0;
}

/* The call of another thread of the process that ended last before this one's begin: it may have woken its thread. */
static void find_handover(const struct builder *b, struct gw_replay_node *node)
{
    const struct gw_model *model = b->model;
    uint64_t latest = b->now.thread_end[node->thread];
    bool is_first = b->now.thread_node[node->thread] == GW_NONE; /* a thread that appears was started by another */
    node->handed_by = GW_NONE;
    if (!is_first &&
        (node->blocked_ns < HANDOVER_LEAST_NS || node->blocked_ns < node->think_ns || node->blocked_noise_ns))
        return;
    for (uint32_t t = 0; t < model->threads_count; t++) {
        uint32_t by = b->now.thread_node[t];
        if (by == GW_NONE || !gw_may_wake(&b->wakers, node->thread, t))
            continue;
        if (b->now.thread_end[t] > node->begin_ns) /* in a call already: it handed over before that */
            by = b->now.thread_earlier[t];
        uint64_t end = by == GW_NONE ? 0 : model->calls[b->replay->nodes[by].call].end_ns;
        if (end <= latest || end > node->begin_ns)
            continue;
        latest = end;
        node->handed_by = by;
        node->handed_ns = node->begin_ns - latest;
    }
    if (!is_first && node->handed_by != GW_NONE && node->handed_ns > HANDOVER_MOST_NS &&
        node->handed_ns > node->blocked_ns / HANDOVER_MOST_PART)
        node->handed_by = GW_NONE;
}

static int add_node(struct builder *b, uint32_t call_index)
{
    const struct gw_call *call = &b->model->calls[call_index];
    struct gw_replay *replay = b->replay;
    struct gw_replay_node node = {.begin_ns = call->begin_ns, .call = call_index, .thread = call->thread};
    struct details found = {0};
    uint32_t process = b->model->threads[call->thread].process;
    uint64_t busy = b->now.process_busy[process], before = b->now.thread_end[call->thread];
    int ret;
    node.op_first = (uint32_t)replay->ops_count;
    node.order_first = (uint32_t)replay->orders_count;
    if (b->now.thread_node[call->thread] != GW_NONE && before < call->begin_ns) {
        node.blocked_ns = gw_host_blocked_ns(b->host, call->thread, before, call->begin_ns);
        node.think_ns = call->begin_ns - before - node.blocked_ns;
        if (!gw_host_slept(b->host, call->thread, before, call->begin_ns)) {
            node.blocked_noise_ns = node.blocked_ns;
            replay->nodes[b->now.thread_node[call->thread]].preempted = true;
        }
    }
    find_handover(b, &node);
    if ((ret = collect_details(b, &node, &found)) < 0)
        return ret;
    const struct gw_op_range range = gw_call_ops_of(b->call_ops, call_index);
    for (uint32_t i = range.first; i < range.end; i++) {
        if ((ret = add_op(b, &node, gw_call_ops_op(b->call_ops, i))) < 0)
            return ret;
    }
    find_wait(b, &node, &found, busy);
    if (!GW_ARRAY_RESERVE(replay->nodes, replay->nodes_count, &b->node_room))
        return -ENOMEM;
    b->now.thread_end[call->thread] = max_u64(before, call->end_ns);
    b->now.thread_earlier[call->thread] = b->now.thread_node[call->thread];
    b->now.thread_node[call->thread] = (uint32_t)replay->nodes_count;
    replay->nodes[replay->nodes_count++] = node;
    return 0;
}

/* ---- the whole ---- */

/* From the first analysed step to the last, or as far as GW_REPLAY_NODES outermost calls reach. */
static int find_window(struct builder *b)
{
    const struct gw_model *model = b->model;
    uint64_t begin = UINT64_MAX, end = 0;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (model->steps[s].warmup)
            continue;
        begin = model->steps[s].begin_ns < begin ? model->steps[s].begin_ns : begin;
        end = max_u64(end, model->steps[s].end_ns);
    }
    if (begin >= end)
        return -ENODATA;
    uint32_t nodes = 0;
    for (size_t c = 0; c < model->calls_count; c++) {
        if (model->calls[c].depth > 1 || model->calls[c].begin_ns < begin)
            continue;
        if (++nodes > GW_REPLAY_NODES) {
            end = model->calls[c].begin_ns < end ? model->calls[c].begin_ns : end;
            break;
        }
    }
    b->window = (struct gw_interval){begin, end};
    return 0;
}

/* Copies of one direction on one device that never overlapped are taken to share one engine, first come first served.
 */
static void find_engines(struct builder *b)
{
    const struct gw_model *model = b->model;
    uint64_t *free_ns = b->now.engine_free;
    for (size_t i = 0; i < 2 * model->devices_count; i++)
        b->replay->engine_serial[i] = true;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->stream == GW_NONE || !gw_op_is_busy(op) || (op->kind != GW_OP_H2D && op->kind != GW_OP_D2H))
            continue;
        size_t at = 2 * model->streams[op->stream].device + (op->kind == GW_OP_D2H);
        if (op->start_ns + 1000 < free_ns[at])
            b->replay->engine_serial[at] = false;
        free_ns[at] = max_u64(free_ns[at], op->end_ns);
    }
    memset(free_ns, 0, 2 * model->devices_count * sizeof *free_ns);
}

/* The first node of a lane that begins at or after t_ns; nodes are in order of begin. */
static size_t first_node_of(const struct gw_replay *replay, uint32_t lane, uint64_t t_ns)
{
    size_t low = GW_FIRST_NOT(0, replay->nodes_count, middle, replay->nodes[middle].begin_ns < t_ns);
    while (low < replay->nodes_count && replay->thread_lane[replay->nodes[low].thread] != lane)
        low++;
    return low;
}

static int add_phases(struct builder *b)
{
    const struct gw_model *model = b->model;
    struct gw_replay *replay = b->replay;
    const struct gw_step *last = NULL;
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        replay->step_nodes[s] = GW_NONE;
        if (!gw_is_analysed_within(step, b->window)) {
            last = NULL;
            continue;
        }
        if (last && last->process != step->process)
            last = NULL;
        uint32_t lane = b->steps->first[step->process] + gw_lane_of_step(model, step);
        size_t node = first_node_of(replay, lane, step->begin_ns);
        size_t end = first_node_of(replay, lane, step->end_ns);
        replay->step_nodes[s] = (uint32_t)node;
        replay->steps++;
        if (last && last->end_ns == step->begin_ns) {
            replay->phases[replay->phases_count - 1].node_end = (uint32_t)end;
            replay->phases[replay->phases_count - 1].steps++;
        } else {
            if (!GW_ARRAY_RESERVE(replay->phases, replay->phases_count, &b->phase_room))
                return -ENOMEM;
            replay->phases[replay->phases_count++] =
                (struct gw_replay_phase){(uint32_t)node, (uint32_t)end, step->process, lane, 1};
        }
        last = step;
    }
    return replay->steps ? 0 : -ENODATA;
}

static int allocate(struct builder *b)
{
    const struct gw_model *model = b->model;
    struct gw_replay *replay = b->replay;
    struct measured *now = &b->now;
    b->lane_windows = calloc(b->steps->first[model->processes_count] + 1u, sizeof *b->lane_windows);
    now->stream_end = calloc(model->streams_count + 1, sizeof *now->stream_end);
    now->blocking_end = calloc(model->devices_count + 1, sizeof *now->blocking_end);
    now->engine_free = calloc(2 * model->devices_count + 1, sizeof *now->engine_free);
    now->thread_end = calloc(model->threads_count + 1, sizeof *now->thread_end);
    now->thread_node = calloc(model->threads_count + 1, sizeof *now->thread_node);
    now->thread_earlier = calloc(model->threads_count + 1, sizeof *now->thread_earlier);
    now->process_busy = calloc(model->processes_count + 1, sizeof *now->process_busy);
    now->legacy = calloc(model->devices_count + 1, sizeof *now->legacy);
    replay->step_nodes = calloc(model->steps_count + 1, sizeof *replay->step_nodes);
    replay->stream_begin_ns = calloc(model->streams_count + 1, sizeof *replay->stream_begin_ns);
    replay->engine_serial = calloc(2 * model->devices_count + 1, sizeof *replay->engine_serial);
    if (!now->stream_end || !now->blocking_end || !now->engine_free || !now->thread_end || !now->thread_node ||
        !now->thread_earlier || !now->process_busy || !now->legacy || !replay->step_nodes || !replay->stream_begin_ns ||
        !replay->engine_serial || !b->lane_windows)
        return -ENOMEM;
    gw_lane_windows(b->steps, b->window, b->lane_windows);
    memset(now->thread_node, 0xff, (model->threads_count + 1) * sizeof *now->thread_node);
    memset(now->thread_earlier, 0xff, (model->threads_count + 1) * sizeof *now->thread_earlier);
    memset(now->legacy, 0xff, (model->devices_count + 1) * sizeof *now->legacy);
    for (uint32_t s = 0; s < model->streams_count; s++) {
        if (model->streams[s].flags & GW_STREAM_LEGACY)
            now->legacy[model->streams[s].device] = s;
    }
    return 0;
}

static void release(struct builder *b)
{
    free(b->now.stream_end);
    free(b->now.blocking_end);
    free(b->now.engine_free);
    free(b->now.event_ns);
    free(b->now.thread_end);
    free(b->now.thread_node);
    free(b->now.thread_earlier);
    free(b->now.process_busy);
    free(b->now.legacy);
    free(b->lane_windows);
    gw_wakers_release(&b->wakers);
    gw_map_clear(&b->events);
}

static const struct gw_interval *window_of(const struct builder *b, uint32_t call)
{
    return &b->lane_windows[b->replay->thread_lane[b->model->calls[call].thread]];
}

static int add_nodes(struct builder *b)
{
    const struct gw_model *model = b->model;
    int ret = 0;
    for (size_t i = 0; i < model->ops_count; i++) { /* what was under way when the window begins */
        const uint32_t call = model->ops[i].outer_call;
        if (call != GW_NONE && model->calls[call].begin_ns < window_of(b, call)->begin_ns)
            pass_op(b, &model->ops[i]);
    }
    memcpy(b->replay->stream_begin_ns, b->now.stream_end, model->streams_count * sizeof *b->now.stream_end);
    for (uint32_t c = 0; c < model->calls_count && ret == 0; c++) {
        const uint64_t begin_ns = model->calls[c].begin_ns;
        if (model->calls[c].depth <= 1 && begin_ns >= window_of(b, c)->begin_ns && begin_ns < window_of(b, c)->end_ns)
            ret = add_node(b, c);
    }
    return ret;
}

int gw_replay_create(const struct gw_host *host, const struct gw_call_ops *call_ops, const struct gw_lane_steps *steps,
                     bool launches_wait, struct gw_replay **ret_replay)
{
    struct builder b = {
        .host = host, .model = host->model, .call_ops = call_ops, .steps = steps, .launches_wait = launches_wait};
    int ret = -ENOMEM;
    b.replay = calloc(1, sizeof *b.replay);
    if (!b.replay)
        goto end;
    b.replay->host = host;
    b.replay->latency_ns = GW_LAUNCH_LATENCY_ASSUMED_NS;
    if ((ret = find_window(&b)) < 0 || (ret = allocate(&b)) < 0 ||
        (ret = gw_wakers_init(&b.wakers, b.model, steps)) < 0 || (ret = gw_replay_find_lanes(b.replay, steps)) < 0)
        goto end;
    find_engines(&b);
    if ((ret = gw_replay_measure_run(b.replay)) < 0 || (ret = add_nodes(&b)) < 0 ||
        (ret = gw_replay_list_lanes(b.replay)) < 0 || (ret = gw_replay_find_exchanges(b.replay)) < 0 ||
        (ret = gw_replay_find_held(b.replay)) < 0 || (ret = gw_replay_find_noise(b.replay)) < 0 ||
        (ret = add_phases(&b)) < 0)
        goto end;
    b.replay->events_count = (uint32_t)b.events.count;
    *ret_replay = b.replay;
    b.replay = NULL;
end:
    release(&b);
    gw_replay_destroy(b.replay);
    return ret;
}

uint32_t gw_replay_node_of(const struct gw_replay *replay, uint32_t call)
{
    const size_t low = GW_FIRST_NOT(0, replay->nodes_count, middle, replay->nodes[middle].call < call);
    return low < replay->nodes_count && replay->nodes[low].call == call ? (uint32_t)low : GW_NONE;
}

void gw_replay_destroy(struct gw_replay *replay)
{
    if (!replay)
        return;
    free(replay->nodes);
    free(replay->ops);
    free(replay->orders);
    free(replay->phases);
    free(replay->step_nodes);
    free(replay->stream_begin_ns);
    free(replay->engine_serial);
    free(replay->legs);
    free(replay->exchanges);
    free(replay->lane_nodes);
    free(replay->lane_first);
    free(replay->thread_lane);
    free(replay->device_lane);
    free(replay);
}
