#include "analyzer/verdicts/gaps.h"

#include <errno.h>

#include "analyzer/verdicts/array.h"

/* Where pieces of one device's idle time go. */
struct sink {
    struct gw_gaps *gaps;
    const struct gw_interval *fog;
    size_t fog_count, fog_at;
    uint32_t device, next_op;
    uint32_t waited_for; /* the call that enqueues next_op */
    bool failed;
};

uint64_t gw_op_enqueue_ns(const struct gw_model *model, const struct gw_op *op)
{
    uint32_t call = op->outer_call != GW_NONE ? op->outer_call : op->call;
    if (call == GW_NONE || op->flags & GW_OP_NO_CALL || model->calls[call].flags & GW_CALL_NO_BEGIN)
        return GW_TIME_UNKNOWN;
    return model->calls[call].begin_ns;
}

static void append(struct sink *sink, uint64_t begin_ns, uint64_t end_ns, enum gw_class cls, uint32_t call)
{
    struct gw_gaps *gaps = sink->gaps;
    if (begin_ns >= end_ns || sink->failed)
        return;
    struct gw_gap *last = gaps->list_count ? &gaps->list[gaps->list_count - 1] : NULL;
    if (last && last->device == sink->device && last->end_ns == begin_ns && last->cls == cls && last->call == call &&
        last->next_op == sink->next_op) {
        last->end_ns = end_ns;
        return;
    }
    if (!GW_ARRAY_RESERVE(gaps->list, gaps->list_count, &gaps->room)) {
        sink->failed = true;
        return;
    }
    gaps->list[gaps->list_count++] = (struct gw_gap){begin_ns, end_ns, sink->device, call, sink->next_op, (uint8_t)cls};
}

/* Appends a piece whose cause holds only outside the fog. Pieces come in order of time. */
static void append_clear(struct sink *sink, uint64_t begin_ns, uint64_t end_ns, enum gw_class cls, uint32_t call)
{
    uint64_t now = begin_ns;
    while (sink->fog_at < sink->fog_count && sink->fog[sink->fog_at].end_ns <= now)
        sink->fog_at++;
    for (size_t i = sink->fog_at; i < sink->fog_count && sink->fog[i].begin_ns < end_ns; i++) {
        uint64_t from = sink->fog[i].begin_ns > now ? sink->fog[i].begin_ns : now;
        uint64_t to = sink->fog[i].end_ns < end_ns ? sink->fog[i].end_ns : end_ns;
        append(sink, now, from, cls, call);
        append(sink, from, to, GW_CLASS_IDLE_UNKNOWN, GW_NONE);
        now = to;
    }
    append(sink, now, end_ns, cls, call);
}

static void visit(void *data, uint64_t begin_ns, uint64_t end_ns, enum gw_class cls, uint32_t call)
{
    struct sink *sink = data;
    append_clear(sink, begin_ns, end_ns, cls, call == GW_NONE ? sink->waited_for : call);
}

static uint64_t clamp(uint64_t t, uint64_t low, uint64_t high)
{
    return t < low ? low : t > high ? high : t;
}

/* The part of [from_ns, to_ns) to be walked on a thread so that every stretch that reaches into `wanted` is whole. */
static struct gw_interval walked_part(const struct gw_host *host, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                                      struct gw_interval wanted)
{
    struct gw_interval part = {from_ns, to_ns};
    if (wanted.begin_ns > from_ns) {
        size_t first = gw_host_first_call_from(host, thread, wanted.begin_ns);
        uint64_t before = first > host->thread_calls[thread] ? host->model->calls[host->calls[first - 1]].begin_ns : 0;
        part.begin_ns = clamp(before, from_ns, to_ns);
    }
    if (wanted.end_ns < to_ns) {
        size_t next = gw_host_first_call_from(host, thread, wanted.end_ns);
        uint64_t after = next < host->thread_calls[thread + 1] ? host->model->calls[host->calls[next]].begin_ns : to_ns;
        part.end_ns = clamp(after, part.begin_ns, to_ns);
    }
    return part;
}

/* Idle in [begin_ns, end_ns), ended by an operation whose enqueue call began at enqueue_ns on thread; looked into where
 * it reaches into `wanted`. */
static void attribute(struct sink *sink, const struct gw_host *host, uint32_t thread, uint64_t begin_ns,
                      uint64_t end_ns, uint64_t enqueue_ns, uint64_t latency_ns, struct gw_interval wanted)
{
    if (enqueue_ns < begin_ns) { /* it was queued already */
        uint64_t latency_from = end_ns - begin_ns > latency_ns ? end_ns - latency_ns : begin_ns;
        append_clear(sink, begin_ns, latency_from, GW_CLASS_IDLE_DEPENDENCY, sink->waited_for);
        append_clear(sink, latency_from, end_ns, GW_CLASS_IDLE_LATENCY, sink->waited_for);
        return;
    }
    uint64_t launch_from = enqueue_ns < end_ns ? enqueue_ns : end_ns;
    struct gw_interval part = walked_part(host, thread, begin_ns, launch_from, wanted);
    append(sink, begin_ns, part.begin_ns, GW_CLASS_IDLE_UNKNOWN, GW_NONE);
    gw_host_walk(host, thread, part.begin_ns, part.end_ns, visit, sink);
    append(sink, part.end_ns, launch_from, GW_CLASS_IDLE_UNKNOWN, GW_NONE);
    append_clear(sink, launch_from, end_ns, GW_CLASS_IDLE_LAUNCH, sink->waited_for);
}

/* From the first to the last of the process's steps that the segment reaches into; empty when there is none. `at` moves
 * on with segments in order of time. */
static struct gw_interval steps_around(const struct gw_model *model, const struct gw_interval *steps, uint32_t process,
                                       const struct gw_segment *segment, size_t *at)
{
    struct gw_interval around = {segment->end_ns, segment->begin_ns};
    while (*at < model->steps_count &&
           (model->steps[*at].process < process ||
            (model->steps[*at].process == process && steps[*at].end_ns <= segment->begin_ns)))
        ++*at;
    for (size_t s = *at;
         s < model->steps_count && model->steps[s].process == process && steps[s].begin_ns < segment->end_ns; s++) {
        around.begin_ns = steps[s].begin_ns < around.begin_ns ? steps[s].begin_ns : around.begin_ns;
        around.end_ns = steps[s].end_ns > around.end_ns ? steps[s].end_ns : around.end_ns;
    }
    return around;
}

/* The thread that feeds a device when no later operation tells: the one that enqueued its last operation. */
static uint32_t last_feeder(const struct gw_model *model, uint32_t device)
{
    for (size_t i = model->ops_count; i-- > 0;) {
        const struct gw_op *op = &model->ops[i];
        if (op->stream != GW_NONE && model->streams[op->stream].device == device && op->call != GW_NONE)
            return model->calls[op->call].thread;
    }
    return GW_NONE;
}

int gw_gaps_append(struct gw_gaps *gaps, const struct gw_host *host, uint32_t device,
                   const struct gw_segments *segments, const struct gw_interval *fog, size_t fog_count,
                   uint64_t latency_ns, const struct gw_interval *steps)
{
    const struct gw_model *model = host->model;
    size_t step = 0;
    struct sink sink = {.gaps = gaps, .fog = fog, .fog_count = fog_count, .device = device};
    for (size_t i = 0; i < segments->list_count && !sink.failed; i++) {
        const struct gw_segment *segment = &segments->list[i];
        struct gw_interval wanted = {segment->begin_ns, segment->end_ns};
        if (segment->cls != GW_CLASS_COUNT)
            continue;
        if (steps)
            wanted = steps_around(model, steps, model->devices[device].process, segment, &step);
        sink.next_op = segment->next_op;
        sink.waited_for = GW_NONE;
        uint32_t thread = GW_NONE;
        uint64_t enqueue_ns = segment->end_ns;
        if (segment->next_op == GW_NONE) {
            thread = last_feeder(model, device);
        } else {
            const struct gw_op *op = &model->ops[segment->next_op];
            enqueue_ns = gw_op_enqueue_ns(model, op);
            if (enqueue_ns != GW_TIME_UNKNOWN) {
                sink.waited_for = op->outer_call != GW_NONE ? op->outer_call : op->call;
                thread = model->calls[sink.waited_for].thread;
            }
        }
        if (thread == GW_NONE || wanted.begin_ns >= wanted.end_ns)
            append(&sink, segment->begin_ns, segment->end_ns, GW_CLASS_IDLE_UNKNOWN, GW_NONE);
        else
            attribute(&sink, host, thread, segment->begin_ns, segment->end_ns, enqueue_ns, latency_ns, wanted);
    }
    return sink.failed ? -ENOMEM : 0;
}
