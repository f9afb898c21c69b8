/*
 * Judges of the host waiting for the GPU: scalar reads, synchronisation, blocking launches.
 */
#include "analyzer/verdicts/judge.h"

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

int gw_judge_host_sync(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    finding.waits = true;
    for (size_t i = 0; i < judge->facts_count; i++) {
        struct gw_fact *fact = &judge->facts[i];
        if (fact->step == GW_NONE || !is_scalar_read(judge, fact))
            continue;
        struct gw_fact *next = gw_fact_after(judge, fact);
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
    ret = gw_finding_conclude(&finding, judge, verdict, "%.1f small copies to the host a step are waited for",
                              (double)finding.count / (judge->steps > 0 ? judge->steps : 1));
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
        if (fact->step != GW_NONE && fact->cls == GW_CALL_SYNC && !fact->claimed && !paces(judge, fact))
            gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.1f synchronisations a step, scalar reads and waits for earlier steps apart",
                              (double)finding.count / (judge->steps > 0 ? judge->steps : 1));
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
        if (waited)
            gw_finding_mark(&finding, judge, fact, GW_EDIT_QUICK);
        else if (next && next->cls == GW_CALL_SYNC)
            gw_finding_mark(&finding, judge, next, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict, "%.0f %% of %.1f launches a step %s",
                              waited ? 100 * judge->launch_wait_share : 100 * followed / launches, launches / steps,
                              waited ? "last as long as their kernel" : "are followed by a synchronisation");
    gw_finding_release(&finding);
    return ret;
}
