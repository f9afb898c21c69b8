/* Kernels that are tried out: autotune. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/judge.h"

#define TRIAL_KERNELS 3u
/* A kernel that runs in more than this part of the steps is not tried out, it is used. */
#define TRIAL_FEWER 4u
#define SEARCH_MOST 64u

/* What stands beside a trial: memory for it, a wait for it … */
static bool is_wait(const struct gw_fact *fact)
{
    return fact->cls == GW_CALL_ALLOC || fact->cls == GW_CALL_SYNC;
}

/* … or a time stamp. */
static bool is_stamp(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_order *order = gw_fact_order(judge, fact);
    return order && order->what == GW_ORDER_EVENT_RECORD;
}

/* The fact beside one; loads apart, which come before the first launch of a kernel. */
static const struct gw_fact *neighbour(struct gw_judge *judge, const struct gw_fact *fact, int direction)
{
    do
        fact = direction ? gw_fact_after(judge, fact) : gw_fact_before(judge, fact);
    while (fact && fact->cls == GW_CALL_COMPILE);
    return fact;
}

/* What belongs to a trial besides its kernel: workspaces, waits and time stamps right before and after it. */
static void drop_round_trial(struct gw_judge *judge, struct gw_finding *finding, const struct gw_fact *trial)
{
    for (int direction = 0; direction < 2; direction++) {
        const struct gw_fact *fact = trial;
        while ((fact = neighbour(judge, fact, direction)) && fact->step == trial->step &&
               (is_wait(fact) || is_stamp(judge, fact)))
            gw_finding_edit(finding, judge, fact, GW_EDIT_DROP);
    }
}

/* A kernel that is tried out runs by itself: on both sides stands an allocation, a wait or a time stamp, and on one of
 * them, time stamps apart, no mere time stamp. */
static bool is_framed(struct gw_judge *judge, const struct gw_fact *fact)
{
    bool waits = false;
    for (int direction = 0; direction < 2; direction++) {
        const struct gw_fact *next = neighbour(judge, fact, direction), *beside = next;
        while (beside && beside->step == fact->step && is_stamp(judge, beside))
            beside = neighbour(judge, beside, direction);
        const bool wait = beside && beside->step == fact->step && is_wait(beside);
        if (!next || next->step != fact->step || (!wait && !is_stamp(judge, next)))
            return false;
        waits |= wait;
    }
    return waits;
}

/* What is known of a kernel's name. */
struct tried {
    uint32_t steps, last_step; /* analysed ones that it runs in; last_step: 1 + the last of them */
    bool outside;              /* it runs outside them as well */
    bool framed;               /* it ran in few steps, and framed */
};

static uint32_t kernel_of(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_op *op = fact->cls == GW_CALL_LAUNCH ? gw_fact_op(judge, fact) : NULL;
    return op && op->kind == GW_OP_KERNEL ? op->name : GW_NONE;
}

static bool in_one_step(const struct tried *name)
{
    return name->steps == 1 && !name->outside;
}

/* A trial of a search: framed, with a time stamp or memory right before it and a wait before the next launch. */
static bool is_measured(struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_fact *before = neighbour(judge, fact, 0), *after = fact;
    if (!before || !is_framed(judge, fact) || !(is_stamp(judge, before) || before->cls == GW_CALL_ALLOC))
        return false;
    while ((after = neighbour(judge, after, 1)) && (is_wait(after) || is_stamp(judge, after))) {
        if (after->cls == GW_CALL_SYNC)
            return true;
    }
    return false;
}

/* The next launch of a kernel in the step, whatever its thread calls before. */
static const struct gw_fact *next_launch(struct gw_judge *judge, const struct gw_fact *fact)
{
    const uint32_t step = fact->step;
    do
        fact = gw_fact_after(judge, fact);
    while (fact && fact->step == step && kernel_of(judge, fact) == GW_NONE);
    return fact && fact->step == step ? fact : NULL;
}

/* Kernels that every step runs may be tried out as well: where several are measured one after the other and one of them
 * is launched right behind, not measured. Marks the names of those that begin with `first` as framed; returns how many
 * were not before. trials: by step, the launches. */
static uint32_t take_search(struct gw_judge *judge, const struct gw_fact *first, struct tried *names, uint32_t *trials)
{
    uint32_t tried[SEARCH_MOST], count = 0, kinds = 0, marked = 0;
    const struct gw_fact *fact = first;
    for (; fact && count < SEARCH_MOST && is_measured(judge, fact); fact = next_launch(judge, fact)) {
        const uint32_t kernel = kernel_of(judge, fact);
        bool is_new = true;
        for (uint32_t i = 0; i < count; i++)
            is_new = is_new && tried[i] != kernel;
        kinds += is_new;
        tried[count++] = kernel;
    }
    bool is_used = false;
    for (uint32_t i = 0; i < count && fact; i++)
        is_used = is_used || tried[i] == kernel_of(judge, fact);
    for (uint32_t i = 0; i < count && is_used && kinds >= TRIAL_KERNELS; i++) {
        marked += !names[tried[i]].framed;
        names[tried[i]].framed = true;
        trials[first->step]++;
    }
    return marked;
}

/* Counts by name the steps it runs in, and by step the launches of names that run in no other, and those of names that
 * run in few, each framed. Returns how many names ran in few steps and framed. */
static uint32_t find_tried(struct gw_judge *judge, struct tried *names, uint32_t *alone, uint32_t *trials)
{
    uint32_t framed = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const uint32_t kernel = kernel_of(judge, fact);
        if (kernel == GW_NONE)
            continue;
        if (fact->step == GW_NONE) {
            names[kernel].outside = true;
        } else if (names[kernel].last_step != fact->step + 1) {
            names[kernel].steps++;
            names[kernel].last_step = fact->step + 1;
        }
    }
    const struct gw_fact *last = NULL; /* launch */
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const uint32_t kernel = fact->step == GW_NONE ? GW_NONE : kernel_of(judge, fact);
        if (kernel == GW_NONE)
            continue;
        alone[fact->step] += in_one_step(&names[kernel]);
        const bool few = names[kernel].steps * TRIAL_FEWER <= judge->steps;
        if (!few && !(last && last->step == fact->step && is_measured(judge, last)) && is_measured(judge, fact))
            framed += take_search(judge, fact, names, trials);
        last = fact;
        if (!few || !is_framed(judge, fact))
            continue;
        trials[fact->step]++;
        framed += !names[kernel].framed;
        names[kernel].framed = true;
    }
    return framed;
}

int gw_judge_autotune(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    struct gw_finding finding;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    struct tried *names = calloc(model->names_count + 1, sizeof *names);
    uint32_t *alone = calloc(model->steps_count + 1, sizeof *alone);
    uint32_t *trials = calloc(model->steps_count + 1, sizeof *trials);
    int ret = names && alone && trials ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0)
        goto end;
    const bool framed = find_tried(judge, names, alone, trials) >= TRIAL_KERNELS;
    uint32_t by_frame = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const uint32_t kernel = fact->step == GW_NONE ? GW_NONE : kernel_of(judge, fact);
        if (kernel == GW_NONE)
            continue;
        const bool several = alone[fact->step] >= TRIAL_KERNELS;
        const bool together = in_one_step(&names[kernel]) && several;
        /* Where several are tried, so is the one that the steps use from then on. */
        const bool winner = several || (framed && trials[fact->step] >= TRIAL_KERNELS);
        if (!together && !(((framed && names[kernel].framed) || winner) && is_framed(judge, fact)))
            continue;
        by_frame += !together;
        gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP | GW_EDIT_NO_OP);
        drop_round_trial(judge, &finding, fact);
    }
    if (!by_frame)
        ret = gw_finding_conclude(&finding, judge, verdict,
                                  "%llu kernels run in one step only, at least %u of them together",
                                  (unsigned long long)finding.count, TRIAL_KERNELS);
    else
        ret = gw_finding_conclude(&finding, judge, verdict,
                                  "%llu launches try kernels out, %u of them one by one between allocations, waits or "
                                  "time stamps",
                                  (unsigned long long)finding.count, by_frame);
    gw_finding_release(&finding);
end:
    free(names);
    free(alone);
    free(trials);
    return ret;
}
