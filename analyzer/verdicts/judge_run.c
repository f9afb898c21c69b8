/*
 * Judges of the run as a whole: slow steps, and what needs more than one run.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/judge.h"

/* A slow step costs more than the median one by this share of it and by this many robust deviations. */
#define SLOW_SHARE 0.1
#define SLOW_DEVIATIONS 6.0
/* More slow steps than this are the rule, not hiccups. */
#define SLOW_STEPS_SHARE 0.25
/* One slow step alone has to cost the run this share of it: anything may happen once. */
#define SLOW_ONCE_SHARE 0.05

static double median(const double *values, const struct gw_model *model, double *scratch)
{
    size_t count = 0;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (!model->steps[s].warmup)
            scratch[count++] = values[s];
    }
    return gw_upper_median(scratch, count);
}

/* What each step costs: its length on the devices, less what the replay takes for noise. */
static void measure_costs(const struct gw_judge *judge, double *costs)
{
    for (size_t s = 0; s < judge->model->steps_count; s++)
        costs[s] = (double)(judge->device_steps[s].end_ns - judge->device_steps[s].begin_ns);
    for (size_t i = 0; i < judge->facts_count && judge->replay; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        uint32_t node = fact->step == GW_NONE ? GW_NONE : gw_replay_node_of(judge->replay, fact->call);
        if (node != GW_NONE && !judge->replay->nodes[node].preempted)
            costs[fact->step] -=
                (double)(judge->replay->nodes[node].own_noise_ns + judge->replay->nodes[node].lag_noise_ns +
                         judge->replay->nodes[node].extra_noise_ns + judge->replay->nodes[node].duration_noise_ns);
    }
}

/* By step: how long other programs kept the thread that feeds the GPU off the CPU, between its calls and in those that
 * are known to have lost it. Nothing in the program or its data makes such a step slow. */
static void measure_preemption(const struct gw_judge *judge, double *preempted_ns)
{
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        const struct gw_call *call = &judge->model->calls[fact->call];
        uint64_t blocked_ns = 0;
        if (!before || before->step == GW_NONE)
            continue;
        const struct gw_call *last = &judge->model->calls[before->call];
        if (gw_host_slept(&judge->host, call->thread, last->end_ns, call->begin_ns))
            continue;
        gw_fact_pause_ns(judge, fact, &blocked_ns);
        preempted_ns[before->step] += (double)(blocked_ns + last->end_ns - last->begin_ns);
    }
}

/* The idle class whose time in the slow steps exceeds that in the others most, per slow step; GW_CLASS_COMPUTE when it
 * is less than half of excess_ns, so that longer operations are what differs. */
static enum gw_class what_differs(const struct gw_judge *judge, const uint8_t *slow, double excess_ns)
{
    double in[GW_CLASS_COUNT] = {0}, out[GW_CLASS_COUNT] = {0}, in_count = 0, out_count = 0;
    for (size_t i = 0; i < judge->budget->cells_count; i++) {
        const struct gw_step_budget *cell = &judge->budget->cells[i];
        if (judge->model->steps[cell->step].warmup || cell->unused)
            continue;
        bool is_slow = slow[cell->step];
        in_count += is_slow;
        out_count += !is_slow;
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            (is_slow ? in : out)[c] += (double)cell->ns[c];
    }
    int most = GW_CLASS_IDLE_DEPENDENCY;
    for (int c = GW_CLASS_IDLE_DEPENDENCY; c < GW_CLASS_COUNT; c++) {
        in[c] = in[c] / fmax(in_count, 1) - out[c] / fmax(out_count, 1);
        if (in[c] > in[most])
            most = c;
    }
    return in[most] >= 0.5 * excess_ns ? (enum gw_class)most : GW_CLASS_COMPUTE;
}

/* Ranks may have unequal work: a step is compared with those of its own process. Moves the costs of each to the median
 * of all. */
static void level_processes(const struct gw_model *model, double *costs, double *scratch)
{
    double usual = median(costs, model, scratch);
    for (size_t from = 0, to; from < model->steps_count; from = to) {
        size_t count = 0;
        for (to = from; to < model->steps_count && model->steps[to].process == model->steps[from].process; to++) {
            if (!model->steps[to].warmup)
                scratch[count++] = costs[to];
        }
        const double own = gw_upper_median(scratch, count);
        for (size_t s = from; s < to && count; s++)
            costs[s] += usual - own;
    }
}

static int add_slow_step(struct gw_verdict *verdict, const struct gw_step *step)
{
    if (verdict->evidence_count == GW_EVIDENCE_MAX)
        return 0;
    struct gw_evidence *evidence = &verdict->evidence[verdict->evidence_count];
    if (asprintf(&evidence->what, "step %u", step->number) < 0) {
        evidence->what = NULL;
        return -ENOMEM;
    }
    evidence->t_ns = step->begin_ns;
    evidence->duration_ns = step->end_ns - step->begin_ns;
    verdict->evidence_count++;
    return 0;
}

int gw_judge_hiccup(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    double excess = 0, all_excess = 0;
    uint32_t count = 0, preempted = 0;
    int ret = -ENOMEM;
    uint8_t *slow = calloc(model->steps_count + 1, 1);
    double *costs = calloc(4 * (model->steps_count + 1), sizeof *costs);
    if (!slow || !costs)
        goto end;
    double *away = costs + model->steps_count + 1, *scratch = away + model->steps_count + 1,
           *preempted_ns = scratch + model->steps_count + 1;
    measure_costs(judge, costs);
    measure_preemption(judge, preempted_ns);
    level_processes(model, costs, scratch);
    double usual = median(costs, model, scratch);
    for (size_t s = 0; s < model->steps_count; s++)
        away[s] = fabs(costs[s] - usual);
    double limit = fmax(SLOW_SHARE * usual, SLOW_DEVIATIONS * 1.4826 * median(away, model, scratch));
    for (size_t s = 0; s < model->steps_count; s++) {
        double over = costs[s] - usual;
        if (model->steps[s].warmup || over <= limit)
            continue;
        all_excess += over;
        if (over - (double)judge->explained_ns[s] <= limit)
            continue; /* another verdict explains it */
        if (over - (double)judge->explained_ns[s] - preempted_ns[s] <= limit) {
            preempted++;
            continue;
        }
        slow[s] = 1;
        count++;
        excess += over - (double)judge->explained_ns[s];
    }
    double saving = gw_a_step(judge, excess);
    verdict->per_step = gw_a_step(judge, count);
    verdict->steps_affected = count;
    if (!judge->gpu_timed) {
        ret = gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
        goto end;
    }
    double least = count > 1 ? judge->threshold_ns : fmax(SLOW_ONCE_SHARE * judge->mean_ns, judge->threshold_ns);
    if (saving < least || count > SLOW_STEPS_SHARE * judge->steps) {
        ret =
            gw_verdict_rule_out(verdict, saving,
                                "%u of %.0f steps cost the GPU much more than the median one and are not explained by "
                                "another verdict or by other programs taking the CPU (%u steps); all slow steps "
                                "together cost %.3f ms a step",
                                count, judge->steps, preempted, gw_a_step(judge, all_excess) / 1e6);
        goto end;
    }
    enum gw_class cls = what_differs(judge, slow, excess / count);
    ret = gw_verdict_confirm(
        verdict, judge, saving,
        "%u of %.0f steps cost the GPU %.3f ms more than the median one; what differs most is %s%s", count,
        judge->steps, excess / count / 1e6, cls == GW_CLASS_COMPUTE ? "the time of kernels" : "idle time: ",
        cls == GW_CLASS_COMPUTE ? "" : gw_class_words(cls));
    for (size_t s = 0; s < model->steps_count && ret == 0; s++) {
        if (slow[s])
            ret = add_slow_step(verdict, &model->steps[s]);
    }
end:
    free(slow);
    free(costs);
    return ret;
}

/* ---- what needs more than one run ---- */

int gw_judge_scaling(struct gw_judge *judge, struct gw_verdict *verdict)
{
    (void)judge;
    return gw_verdict_unknown(verdict, "needs two runs: gpuwitness diff RUN-ON-FEW RUN-ON-MANY");
}
