/*
 * Judges of the host waiting for the GPU: scalar reads, synchronisation, blocking launches.
 */
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/comm.h"
#include "shim/api/functions.h"

#define SCALAR_BYTES 4096u
/* A copy call that ends this long before its copy still counts as having waited: device times have an error. */
#define WAIT_TOLERANCE_NS 20000u
#define BLOCKING_SHARE 0.8
#define BLOCKING_LAUNCHES_A_STEP 3.0

static bool is_scalar_read(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_copy *copy = gw_fact_copy(judge, fact);
    return fact->cls == GW_CALL_COPY && copy && copy->direction == GW_COPY_D2H && copy->size_bytes <= SCALAR_BYTES;
}

static bool copy_waited(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_copy *copy = gw_fact_copy(judge, fact);
    const struct gw_op *op = gw_fact_op(judge, fact);
    if (copy->blocking)
        return true;
    return copy->dst_kind == GW_HOST_PAGEABLE && op &&
           judge->model->calls[fact->call].end_ns + WAIT_TOLERANCE_NS >= op->end_ns;
}

/* Whether the host is told by a callback: XLA reads values so, and who waits for them sleeps outside CUDA. */
static bool calls_back(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const char *name = gw_function_name(judge->model->calls[fact->call].function);
    return fact->cls == GW_CALL_ORDER && (strstr(name, "LaunchHostFunc") || strstr(name, "StreamAddCallback"));
}

/* How long the device of the read is idle right after it, within its step and the one that follows: the idle time after
 * the last step is that of the program's end. */
static uint64_t idle_after(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_model *model = judge->model;
    const struct gw_op *op = gw_fact_op(judge, fact);
    if (!op)
        return 0;
    uint32_t device = model->streams[op->stream].device, last = fact->step;
    if (last + 1 < model->steps_count && model->steps[last + 1].process == model->steps[last].process)
        last++;
    uint64_t until = model->steps[last].end_ns;
    const struct gw_gap *gaps = judge->budget->gaps;
    const size_t end = judge->device_gaps[device + 1],
                 gap = GW_FIRST_NOT(judge->device_gaps[device], end, g, gaps[g].end_ns <= op->end_ns);
    if (gap == end || gaps[gap].begin_ns > op->end_ns || op->end_ns >= until)
        return 0;
    uint64_t idle = judge->idle_on_ns[gap] - (op->end_ns - gaps[gap].begin_ns);
    return idle < until - op->end_ns ? idle : until - op->end_ns;
}

/* Small copies to the host that end in a callback, when no others are waited for. */
static int judge_callbacks(const struct gw_judge *judge, struct gw_verdict *verdict, uint64_t reads, uint64_t idle_ns)
{
    double steps = judge->steps > 0 ? judge->steps : 1, bound_ns = (double)idle_ns / steps;
    verdict->per_step = (double)reads / steps;
    bool seen = judge->gpu_timed && !judge->lost && judge->unknown_ns <= judge->threshold_ns;
    if (seen && bound_ns < judge->threshold_ns)
        return gw_verdict_rule_out(verdict, bound_ns,
                                   "%.1f small copies to the host a step end in a callback; the GPU idles %.3f ms a "
                                   "step after them",
                                   verdict->per_step, bound_ns / 1e6);
    return gw_verdict_unknown(
        verdict,
        "%.1f small copies to the host a step end in a callback, as JAX reads a value; whether the "
        "program waits for it is not seen; the GPU idles %.3f ms a step after them, which is what "
        "it may cost: read it less often and compare (gpuwitness diff)",
        verdict->per_step, bound_ns / 1e6);
}

int gw_judge_host_sync(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    uint64_t callbacks = 0, idle_ns = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    finding.waits = true;
    for (size_t i = 0; i < judge->facts_count; i++) {
        struct gw_fact *fact = &judge->facts[i];
        if (fact->step == GW_NONE || !is_scalar_read(judge, fact))
            continue;
        struct gw_fact *next = gw_fact_after(judge, fact);
        if (next && calls_back(judge, next) && !gw_fact_copy(judge, fact)->blocking) {
            callbacks++;
            idle_ns += idle_after(judge, fact);
            continue;
        }
        bool synchronised = next && next->cls == GW_CALL_SYNC && !gw_fact_copy(judge, fact)->blocking;
        if (!synchronised && !copy_waited(judge, fact))
            continue;
        gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP | GW_EDIT_NO_OP);
        fact->claimed = true;
        if (synchronised) {
            gw_finding_edit(&finding, judge, next, GW_EDIT_DROP);
            next->claimed = true;
        }
    }
    if (callbacks && !finding.count)
        ret = judge_callbacks(judge, verdict, callbacks, idle_ns);
    else
        ret = gw_finding_conclude(&finding, judge, verdict, "%.1f small copies to the host a step are waited for",
                                  gw_a_step(judge, (double)finding.count));
    gw_finding_release(&finding);
    return ret;
}

/* Whether a synchronisation waits for an event of an earlier step: it bounds how far the host runs ahead, as it must
 * where buffers are used in turn. */
static bool paces(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_order *wait = gw_fact_order(judge, fact);
    if (!wait || wait->what != GW_ORDER_EVENT_SYNC)
        return false;
    for (const struct gw_fact *before = gw_fact_before(judge, fact); before && before->step == fact->step;
         before = gw_fact_before(judge, before)) {
        const struct gw_order *order = before->cls == GW_CALL_ORDER ? gw_fact_order(judge, before) : NULL;
        if (order && order->what == GW_ORDER_EVENT_RECORD && order->event == wait->event)
            return false;
    }
    return true;
}

int gw_judge_device_sync(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    finding.waits = true;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        if (fact->step != GW_NONE && fact->cls == GW_CALL_SYNC && !fact->claimed && !paces(judge, fact) &&
            !gw_comm_awaits_end(judge, fact))
            gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.1f synchronisations a step, scalar reads and waits for earlier steps apart",
                              gw_a_step(judge, (double)finding.count));
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_blocking_launches(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double launches = 0, followed = 0, steps = judge->steps > 0 ? judge->steps : 1;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    finding.waits = true;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *next = gw_fact_after(judge, fact);
        if (fact->step == GW_NONE || fact->cls != GW_CALL_LAUNCH)
            continue;
        launches++;
        followed += next && next->cls == GW_CALL_SYNC;
    }
    bool waited = judge->launch_wait_share >= BLOCKING_SHARE;
    bool synchronised = launches > 0 && followed / launches >= BLOCKING_SHARE;
    if (!judge->gpu_timed && !synchronised && launches / steps >= BLOCKING_LAUNCHES_A_STEP) {
        gw_finding_release(&finding);
        return gw_verdict_unknown(verdict,
                                  "whether the %.1f launches a step last as long as their kernel needs GPU "
                                  "timing (record --gpu-timing=events)",
                                  launches / steps);
    }
    if ((!waited && !synchronised) || launches / steps < BLOCKING_LAUNCHES_A_STEP) {
        ret = gw_finding_conclude(&finding, judge, verdict,
                                  "%.0f %% of the launches last as long as their kernel and %.0f %% are followed by a "
                                  "synchronisation",
                                  100 * judge->launch_wait_share, launches > 0 ? 100 * followed / launches : 0);
        gw_finding_release(&finding);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        struct gw_fact *fact = &judge->facts[i], *next = gw_fact_after(judge, fact);
        if (fact->step == GW_NONE || fact->cls != GW_CALL_LAUNCH)
            continue;
        if (waited) {
            gw_finding_mark(&finding, judge, fact, GW_EDIT_QUICK);
        } else if (next && next->cls == GW_CALL_SYNC) {
            gw_finding_mark(&finding, judge, next, GW_EDIT_DROP);
            next->claimed = true;
        }
    }
    ret = gw_finding_conclude(&finding, judge, verdict, "%.0f %% of %.1f launches a step %s",
                              waited ? 100 * judge->launch_wait_share : 100 * followed / launches, launches / steps,
                              waited ? "last as long as their kernel" : "are followed by a synchronisation");
    gw_finding_release(&finding);
    return ret;
}
