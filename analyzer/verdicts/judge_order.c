/*
 * Judges of the order of work on the device: streams, the legacy default stream, event waits.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/judge.h"

#define ROOM_SHARE 0.9
/* Fork and join alone change the stream twice a step. */
#define TURNS_A_STEP 4.0
#define TURN_SLACK_NS 1000u

/* True when the device of this stream also has another stream with work: the legacy stream's joins matter then. */
static bool has_company(const struct gw_model *model, uint32_t stream)
{
    for (uint32_t s = 0; s < model->streams_count; s++) {
        if (s != stream && model->streams[s].device == model->streams[stream].device && model->streams[s].op_count &&
            !(model->streams[s].flags & GW_STREAM_NON_BLOCKING))
            return true;
    }
    return false;
}

/* Whether kernels of several streams other than the legacy one could run at once: nearly all their time is that of
 * kernels of no more blocks than half the multiprocessors. joined_only: of streams that the legacy one joins; what one
 * of them and the legacy one do may depend on the join. */
static bool leave_room(const struct gw_judge *judge, bool joined_only)
{
    const struct gw_model *model = judge->model;
    double small_ns = 0, all_ns = 0;
    uint32_t joined = GW_NONE;
    bool several = false;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_op *op = gw_fact_op(judge, fact);
        if (fact->step == GW_NONE || !op || op->kind != GW_OP_KERNEL ||
            (joined_only && model->streams[op->stream].flags & GW_STREAM_NON_BLOCKING))
            continue;
        all_ns += (double)(op->end_ns - op->start_ns);
        if (!(model->streams[op->stream].flags & GW_STREAM_LEGACY)) {
            several |= joined != GW_NONE && joined != op->stream &&
                       model->streams[joined].device == model->streams[op->stream].device;
            joined = op->stream;
        }
        const struct gw_call *call = &model->calls[op->call];
        if (call->detail_kind != GW_DETAIL_LAUNCH || call->detail == GW_NONE)
            continue;
        const uint32_t *grid = model->launches[call->detail].grid;
        uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
        if (2 * blocks <= model->devices[model->streams[op->stream].device].multiprocessors)
            small_ns += (double)(op->end_ns - op->start_ns);
    }
    return several && small_ns >= ROOM_SHARE * all_ns;
}

int gw_judge_stream_serialised(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double copies = 0, joins = 0;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    uint8_t *needless = gw_needless_uploads(judge);
    int ret = needless ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(needless);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = fact->cls == GW_CALL_COPY ? gw_fact_copy(judge, fact) : NULL;
        const struct gw_op *op = gw_fact_op(judge, fact);
        if (fact->step == GW_NONE || !op || fact->claimed)
            continue;
        if (copy && gw_is_large_upload(copy)) {
            /* One that blocks is blocking-copy's, one that is not needed at all repeated-upload's. */
            if (copy->blocking || needless[op - judge->model->ops])
                continue;
            copies++;
            gw_finding_mark(&finding, judge, fact, GW_EDIT_OTHER_STREAM);
        } else if (judge->model->streams[op->stream].flags & GW_STREAM_LEGACY &&
                   has_company(judge->model, op->stream)) {
            joins++;
            gw_finding_mark(&finding, judge, fact, GW_EDIT_NO_ORDER);
        }
    }
    finding.overlaps = joins > 0 && leave_room(judge, true);
    finding.least_ns = joins > 0 ? 0 : GW_OWN_STREAM_SHARE * judge->mean_ns;
    finding.cap_ns = finding.overlaps ? -1 : judge->idle_ns + judge->class_ns[GW_CLASS_COPY_H2D];
    ret = gw_finding_conclude(
        &finding, judge, verdict,
        "%.1f large uploads a step queue behind other work of their stream and %.1f operations use "
        "the legacy default stream beside others; the GPU only uploads for %.3f ms (kernels of one "
        "stream are taken to need each other)",
        gw_a_step(judge, copies), gw_a_step(judge, joins), judge->class_ns[GW_CLASS_COPY_H2D] / 1e6);
    gw_finding_release(&finding);
    free(needless);
    return ret;
}

/* Two streams of a device, by the kernels that follow each other on it. */
struct turns {
    uint32_t last;     /* stream of the kernel before */
    uint64_t until_ns; /* latest end so far */
    uint64_t changes;  /* from one stream to another */
    bool overlaps, third;
    uint32_t streams[2];
};

static void take_kernel(struct turns *turns, const struct gw_op *op)
{
    const bool known = op->stream == turns->streams[0] || op->stream == turns->streams[1];
    if (!known)
        turns->third |= turns->streams[1] != GW_NONE;
    if (!known && !turns->third)
        turns->streams[turns->streams[0] != GW_NONE] = op->stream;
    turns->changes += turns->last != GW_NONE && turns->last != op->stream;
    turns->overlaps |= turns->last != op->stream && op->start_ns + TURN_SLACK_NS < turns->until_ns;
    turns->last = op->stream;
    turns->until_ns = op->end_ns > turns->until_ns ? op->end_ns : turns->until_ns;
}

/* Whether the kernels of the analysed steps are on two streams of one device that take turns, at least twice a step
 * each, and never run at once. Who needed that order would have used one stream. */
static bool only_take_turns(const struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    struct turns turns = {.last = GW_NONE, .streams = {GW_NONE, GW_NONE}};
    uint32_t device = GW_NONE;
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        for (uint32_t i = 0; i < step->op_count && !step->warmup; i++) {
            const struct gw_op *op = &model->ops[model->process_ops[step->first_op + i]];
            if (op->kind != GW_OP_KERNEL || op->flags & GW_OP_UNTIMED)
                continue;
            if (device != GW_NONE && device != model->streams[op->stream].device)
                return false;
            device = model->streams[op->stream].device;
            take_kernel(&turns, op);
        }
    }
    return !turns.overlaps && !turns.third && turns.streams[1] != GW_NONE &&
           gw_a_step(judge, (double)turns.changes) >= TURNS_A_STEP;
}

/* Event waits that let no kernels run at once that could: whether they are needed is not seen, unless they make two
 * streams out of what one would do as well. */
static int judge_waits(struct gw_judge *judge, struct gw_finding *finding, struct gw_verdict *verdict)
{
    const struct gw_repair repair = {.calls = finding->edits};
    double mean_ns = 0;
    int ret = gw_replay_run(judge->replay, &repair, &mean_ns, NULL);
    double saving_ns = judge->replay_mean_ns - mean_ns;
    if (ret < 0 || gw_judge_saving(judge, saving_ns) != GW_CONFIRMED)
        return ret;
    free(verdict->why);
    verdict->why = NULL;
    if (only_take_turns(judge)) {
        finding->overlaps = true;
        finding->cap_ns = -1;
        verdict->steps_affected = 0;
        return gw_finding_conclude(finding, judge, verdict,
                                   "%.1f event waits a step make the small kernels of two streams take turns, which "
                                   "never run at once; if results need that order, one stream would do as well",
                                   gw_a_step(judge, (double)finding->count));
    }
    return gw_verdict_unknown(
        verdict,
        "%.1f event waits a step keep small kernels of several streams from running at once; a step "
        "would be up to %.3f ms shorter without them, but whether results depend on them is not seen",
        gw_a_step(judge, (double)finding->count), saving_ns / 1e6);
}

int gw_judge_dependency_stall(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double stalled = judge->class_ns[GW_CLASS_IDLE_DEPENDENCY];
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_order *order = gw_fact_order(judge, fact);
        if (fact->step != GW_NONE && order && order->what == GW_ORDER_STREAM_WAIT_EVENT)
            gw_finding_mark(&finding, judge, fact, GW_EDIT_NO_ORDER);
    }
    finding.cap_ns = stalled;
    finding.host_ns = stalled * judge->steps;
    ret =
        gw_finding_conclude(&finding, judge, verdict,
                            "%.1f event waits a step; the GPU idles %.3f ms with work queued that waits for other work",
                            gw_a_step(judge, (double)finding.count), stalled / 1e6);
    if (ret == 0 && verdict->state == GW_RULED_OUT && finding.count && judge->replay && leave_room(judge, false))
        ret = judge_waits(judge, &finding, verdict);
    gw_finding_release(&finding);
    return ret;
}
