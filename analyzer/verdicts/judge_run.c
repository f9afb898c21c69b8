/*
 * Judges of the run as a whole: slow steps, and what needs more than one run.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/verdicts/judge.h"

/* One slow step alone has to cost the run this share of it: anything may happen once. */
#define SLOW_ONCE_SHARE 0.05
/* A pause is what makes a step slow when it is this part of what the step costs more than usual. */
#define CAUSE_SHARE 0.5

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

/* Every how many steps a slow one comes, as a clause; "" when they keep no distance. */
static void say_period(const struct gw_model *model, const uint8_t *slow, char *words, size_t room)
{
    uint32_t period = 0, times = 0;
    const struct gw_step *last = NULL;
    words[0] = 0;
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        if (!slow[s])
            continue;
        bool follows = last && last->process == step->process;
        uint32_t distance = follows ? step->number - last->number : 0;
        last = step;
        if (!follows)
            continue;
        if (period && distance != period)
            return;
        period = distance;
        times++;
    }
    if (times >= 2)
        snprintf(words, room, ", every %u%s step,", period,
                 period % 10 == 1 && period % 100 != 11   ? "st"
                 : period % 10 == 2 && period % 100 != 12 ? "nd"
                 : period % 10 == 3 && period % 100 != 13 ? "rd"
                                                          : "th");
}

/* By step: the fact after the longest pause of the thread that feeds the GPU in it, where it is a slow one; NULL. */
static void find_pauses(const struct gw_judge *judge, const uint8_t *slow, const struct gw_fact **pauses)
{
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        uint64_t blocked = 0;
        if (!before || before->step == GW_NONE || !slow[before->step])
            continue;
        const struct gw_fact **longest = &pauses[before->step];
        if (!*longest || gw_fact_pause_ns(judge, fact, &blocked) > gw_fact_pause_ns(judge, *longest, &blocked))
            *longest = fact;
    }
}

static int add_slow_step(const struct gw_judge *judge, struct gw_verdict *verdict, size_t index,
                         const struct gw_fact *after_pause)
{
    const struct gw_step *step = &judge->model->steps[index];
    uint64_t blocked = 0, pause = after_pause ? gw_fact_pause_ns(judge, after_pause, &blocked) : 0;
    if (verdict->evidence_count == GW_EVIDENCE_MAX)
        return 0;
    struct gw_evidence *evidence = &verdict->evidence[verdict->evidence_count];
    int length = -1;
    if ((double)pause < CAUSE_SHARE * gw_slow_step_over_ns(&judge->slow, judge->model, index)) {
        length = asprintf(&evidence->what, "step %u", step->number);
    } else {
        char *call = gw_describe_call(judge, after_pause->call);
        length = call ? asprintf(&evidence->what, "step %u, %.3f ms of it outside CUDA before %s", step->number,
                                 (double)pause / 1e6, call)
                      : -1;
        free(call);
    }
    if (length < 0) {
        evidence->what = NULL;
        return -ENOMEM;
    }
    evidence->t_ns = step->begin_ns;
    evidence->duration_ns = step->end_ns - step->begin_ns;
    verdict->evidence_count++;
    return 0;
}

/* What to do about steps in which the host does something else. */
static int advise_on_pauses(const struct gw_judge *judge, struct gw_verdict *verdict, const struct gw_fact *after_pause,
                            const char *period)
{
    char *call = gw_describe_call(judge, after_pause->call);
    int length = call ? asprintf(&verdict->fix,
                                 "Look at what the program does before %s in these steps%s and not in others: do it "
                                 "less often or in another thread (PyTorch: gc.freeze() before the loop, torch.save "
                                 "from another thread; JAX: likewise, and orbax's asynchronous checkpoints; both: log "
                                 "less often).",
                                 call, period)
                      : -1;
    free(call);
    if (length < 0)
        verdict->fix = NULL;
    return length < 0 ? -ENOMEM : 0;
}

static int confirm_slow(const struct gw_judge *judge, struct gw_verdict *verdict, const uint8_t *slow, uint32_t count,
                        double excess_ns)
{
    const struct gw_model *model = judge->model;
    const struct gw_fact **pauses = calloc(model->steps_count + 1, sizeof(*pauses)), *caused = NULL;
    char period[48];
    if (!pauses)
        return -ENOMEM;
    enum gw_class cls = what_differs(judge, slow, excess_ns / count);
    say_period(model, slow, period, sizeof(period));
    int ret = gw_verdict_confirm(verdict, judge, gw_a_step(judge, excess_ns),
                                 "%u of %.0f steps%s cost the GPU %.3f ms more than the median one; what differs most "
                                 "is %s%s",
                                 count, judge->steps, period, excess_ns / count / 1e6,
                                 cls == GW_CLASS_COMPUTE ? "the time of kernels" : "idle time: ",
                                 cls == GW_CLASS_COMPUTE ? "" : gw_class_words(cls));
    find_pauses(judge, slow, pauses);
    for (size_t s = 0; s < model->steps_count && ret == 0; s++) {
        if (!slow[s])
            continue;
        caused = caused ? caused : pauses[s];
        ret = add_slow_step(judge, verdict, s, pauses[s]);
    }
    if (ret == 0 && caused && (cls == GW_CLASS_IDLE_HOST || cls == GW_CLASS_IDLE_BLOCKED))
        ret = advise_on_pauses(judge, verdict, caused, period);
    free(pauses);
    return ret;
}

int gw_judge_hiccup(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    double excess = 0, all_excess = 0;
    uint32_t count = 0, preempted = 0;
    int ret = -ENOMEM;
    uint8_t *slow = calloc(model->steps_count + 1, 1);
    double *preempted_ns = calloc(model->steps_count + 1, sizeof *preempted_ns);
    if (!slow || !preempted_ns)
        goto end;
    measure_preemption(judge, preempted_ns);
    for (size_t s = 0; s < model->steps_count; s++) {
        double over = gw_slow_step_over_ns(&judge->slow, model, s), limit = judge->slow.limit_ns;
        if (over <= 0)
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
    double least = count > 1 ? judge->threshold_ns : fmax(SLOW_ONCE_SHARE * judge->mean_ns, judge->threshold_ns);
    if (!judge->gpu_timed)
        ret = gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    else if (saving < least || count > GW_SLOW_STEPS_SHARE * judge->steps)
        ret =
            gw_verdict_rule_out(verdict, saving,
                                "%u of %.0f steps cost the GPU much more than the median one and are not explained by "
                                "another verdict or by other programs taking the CPU (%u steps); all slow steps "
                                "together cost %.3f ms a step",
                                count, judge->steps, preempted, gw_a_step(judge, all_excess) / 1e6);
    else
        ret = confirm_slow(judge, verdict, slow, count, excess);
end:
    free(slow);
    free(preempted_ns);
    return ret;
}

/* ---- what needs more than one run ---- */

int gw_judge_scaling(struct gw_judge *judge, struct gw_verdict *verdict)
{
    (void)judge;
    return gw_verdict_unknown(verdict, "needs two runs: gpuwitness diff RUN-ON-FEW RUN-ON-MANY");
}
