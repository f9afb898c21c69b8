/*
 * Judges of the thread that feeds the GPU: busy, asleep, or paying for launches and queries.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/device_steps.h"
#include "analyzer/verdicts/judge.h"
#include "shim/api/functions.h"

#define SLEEP_LEAST_NS 20000u
#define QUERY_LEAST_NS 10000u
#define TINY_KERNEL_NS 50000u
#define TINY_KERNELS_A_STEP 10.0
#define USUAL_LAUNCHES 4u
#define USUAL_LAUNCH_NS 5000u
#define LAUNCH_SLACK_NS 20000u

/* This much of the idle time in the longest interval of each step: one pause, not many small ones. */
#define ONE_PAUSE_SHARE 0.8

/* A pause is rare when it is so many times as long as the longest of a usual step, this much longer in any case, and
 * this part of what its step costs more than usual. */
#define RARE_FACTOR 2u
#define RARE_LEAST_NS 20000u
#define RARE_SHARE 0.1

static uint32_t step_of_gap(const struct gw_judge *judge, const struct gw_gap *gap)
{
    const struct gw_interval *times = judge->budget->times;
    uint32_t process = judge->model->devices[gap->device].process;
    size_t step = gw_step_time_after(judge->model, times, process, gap->begin_ns);
    bool within = step < judge->model->steps_count && judge->model->steps[step].process == process &&
                  times[step].begin_ns <= gap->begin_ns;
    return within ? (uint32_t)step : GW_NONE;
}

/* From how long on a pause of the host in a slow step, asleep or else busy, is one that the usual steps do not have,
 * and so the hiccup's: by far longer than the longest of a usual step. GW_TIME_UNKNOWN where slow steps are the rule.
 * 0: no memory. */
static uint64_t rare_pause_ns(const struct gw_judge *judge, bool asleep)
{
    const struct gw_model *model = judge->model;
    size_t count = 0;
    if (!judge->slow.few)
        return GW_TIME_UNKNOWN;
    uint64_t *longest = calloc(model->steps_count + 1, sizeof *longest), rare_ns = 0;
    for (size_t i = 0; longest && i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        if (!before || before->step == GW_NONE ||
            model->calls[fact->call].begin_ns <= model->calls[before->call].end_ns + longest[before->step])
            continue; /* most pauses: how much of them was off the CPU takes longer to find out */
        uint64_t blocked = 0, pause = gw_fact_pause_ns(judge, fact, &blocked);
        const uint64_t length = asleep ? blocked : pause - blocked;
        if (length > longest[before->step])
            longest[before->step] = length;
    }
    for (size_t s = 0; longest && s < model->steps_count; s++) {
        if (!model->steps[s].warmup && gw_slow_step_over_ns(&judge->slow, model, s) <= 0)
            longest[count++] = longest[s];
    }
    if (longest)
        rare_ns = RARE_FACTOR * gw_upper_median_u64(longest, count) + RARE_LEAST_NS;
    free(longest);
    return rare_ns;
}

static bool is_rare(const struct gw_judge *judge, uint32_t step, uint64_t pause_ns, uint64_t rare_ns)
{
    return rare_ns != GW_TIME_UNKNOWN && pause_ns > rare_ns &&
           (double)pause_ns > RARE_SHARE * gw_slow_step_over_ns(&judge->slow, judge->model, step) &&
           gw_slow_step_over_ns(&judge->slow, judge->model, step) > 0;
}

/* Idle intervals of analysed steps in which the host was busy: how many, and the longest as evidence. A thread's own
 * pauses would not do: with several threads the longest belong to one whose turn it was not. Those of rare pauses are
 * left out, their time is stored in *ret_rare_ns. Returns the share that the longest interval of each step has of the
 * time of the others. */
static double take_host_gaps(const struct gw_judge *judge, struct gw_finding *finding, uint64_t rare_ns,
                             uint64_t *ret_rare_ns)
{
    const struct gw_model *model = judge->model;
    uint64_t all_ns = 0, longest_ns = 0, longest_in_step_ns = 0;
    uint32_t in_step = GW_NONE, on_device = GW_NONE;
    finding->count = 0;
    finding->evidence_count = 0;
    for (size_t i = 0; i < judge->budget->gaps_count; i++) {
        const struct gw_gap *gap = &judge->budget->gaps[i];
        uint32_t step = gap->cls == GW_CLASS_IDLE_HOST ? step_of_gap(judge, gap) : GW_NONE;
        if (step == GW_NONE || model->steps[step].warmup)
            continue;
        uint64_t length_ns = gap->end_ns - gap->begin_ns;
        if (is_rare(judge, step, length_ns, rare_ns)) {
            *ret_rare_ns += length_ns;
            continue;
        }
        finding->count++;
        if (gap->call != GW_NONE)
            gw_finding_evidence(finding, gap->begin_ns, length_ns, gap->call);
        if (step != in_step || gap->device != on_device)
            longest_in_step_ns = 0;
        in_step = step;
        on_device = gap->device;
        all_ns += length_ns;
        if (length_ns > longest_in_step_ns) {
            longest_ns += length_ns - longest_in_step_ns;
            longest_in_step_ns = length_ns;
        }
    }
    return all_ns ? (double)longest_ns / (double)all_ns : 0;
}

/* Fewer or captured launches would not shorten one long pause. */
static int advise_on_one_pause(const struct gw_judge *judge, struct gw_verdict *verdict, uint32_t call, double share)
{
    char *what = gw_describe_call(judge, call);
    int length = -1;
    if (what)
        length =
            asprintf(&verdict->fix,
                     "%.0f %% of this is one pause of the host in each step, the longest before %s: look at what "
                     "the program does there and move it to another thread or out of the loop (PyTorch: DataLoader "
                     "workers; JAX: prepare the next batch in a thread; both: log and evaluate less often).",
                     100 * share, what);
    free(what);
    if (length < 0)
        verdict->fix = NULL;
    return length < 0 ? -ENOMEM : 0;
}

int gw_judge_dispatch_bound(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double host = judge->class_ns[GW_CLASS_IDLE_HOST], waited = 0, kernels = 0, in_one_pause = 0;
    char rare[120] = "";
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    uint64_t rare_ns = rare_pause_ns(judge, false), rare_idle_ns = 0;
    int ret = rare_ns ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        uint64_t blocked = 0, pause = gw_fact_pause_ns(judge, fact, &blocked);
        /* A pause belongs to the step its preceding call is in: the next step begins at its own first call. */
        if (before && before->step != GW_NONE && pause > blocked && !fact->compiling &&
            !is_rare(judge, before->step, pause - blocked, rare_ns))
            gw_finding_mark(&finding, judge, fact, GW_EDIT_NO_THINK);
        const struct gw_op *op = fact->step != GW_NONE && fact->cls == GW_CALL_LAUNCH ? gw_fact_op(judge, fact) : NULL;
        if (!op)
            continue;
        kernels++;
        waited += op->start_ns <
                  judge->model->calls[fact->call].begin_ns + 2 * judge->budget->launch_latency_ns + op->error_ns;
    }
    if (finding.count)
        in_one_pause =
            take_host_gaps(judge, &finding, rare_ns,
                           &rare_idle_ns); /* pauses are not occurrences: the idle intervals they cause are */
    if (rare_idle_ns)
        snprintf(rare, sizeof rare, " (%.3f ms of it in rare pauses of slow steps, which do not count here)",
                 gw_a_step(judge, (double)rare_idle_ns) / 1e6);
    ret =
        gw_finding_conclude(&finding, judge, verdict,
                            "the GPU idles %.3f ms a step while the host is busy between CUDA calls%s, and %.0f %% of "
                            "the kernels start as soon as they are launched",
                            host / 1e6, rare, kernels > 0 ? 100 * waited / kernels : 0);
    if (ret == 0 && verdict->state == GW_CONFIRMED && in_one_pause >= ONE_PAUSE_SHARE && finding.evidence_count)
        ret = advise_on_one_pause(judge, verdict, finding.calls[0], in_one_pause);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_small_kernels(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double tiny = 0, kernel_ns = 0, call_ns = 0, pause_ns = 0;
    /* Longer launches were interrupted, or waited for something: a graph would not mend that. */
    uint64_t longest = USUAL_LAUNCHES * (judge->replay ? judge->replay->quick_ns : USUAL_LAUNCH_NS) + LAUNCH_SLACK_NS;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (int pass = 0; pass < 2; pass++) {
        bool train = false;
        for (size_t i = 0; i < judge->facts_count; i++) {
            const struct gw_fact *fact = &judge->facts[i];
            const struct gw_call *call = &judge->model->calls[fact->call];
            const struct gw_op *op = gw_fact_op(judge, fact);
            if (fact->step == GW_NONE || (fact->cls != GW_CALL_LAUNCH && fact->cls != GW_CALL_OTHER))
                train = false;
            if (fact->step == GW_NONE || fact->cls != GW_CALL_LAUNCH || !op || op->kind != GW_OP_KERNEL)
                continue;
            uint64_t length = op->end_ns - op->start_ns, cost = call->end_ns - call->begin_ns;
            uint64_t blocked = 0, pause = gw_fact_pause_ns(judge, fact, &blocked);
            if (length > TINY_KERNEL_NS || length > cost + pause || cost > longest)
                continue;
            if (pass == 0) {
                tiny++;
                kernel_ns += (double)length;
                call_ns += (double)cost;
                pause_ns += (double)pause;
            } else if (train) {
                gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
            }
            train = true;
        }
        if (gw_a_step(judge, tiny) < TINY_KERNELS_A_STEP)
            break;
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.1f launches a step take the host longer than their kernel the GPU (on average %.1f us "
                              "in the call and %.1f us before it, for a kernel of %.1f us)",
                              gw_a_step(judge, tiny), tiny > 0 ? call_ns / tiny / 1e3 : 0,
                              tiny > 0 ? pause_ns / tiny / 1e3 : 0, tiny > 0 ? kernel_ns / tiny / 1e3 : 0);
    gw_finding_release(&finding);
    return ret;
}

static bool uploads(const struct gw_model *model, const struct gw_step *step)
{
    for (uint32_t i = 0; i < step->op_count; i++) {
        if (model->ops[model->process_ops[step->first_op + i]].kind == GW_OP_H2D)
            return true;
    }
    return false;
}

/* True when the sleep before this call held back the head of a step: what is enqueued next begins one, or uploads its
 * data before its first kernel. A step without an upload waits for no data: where in it a sleep lies says nothing. */
static bool is_step_head(struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_model *model = judge->model;
    const struct gw_fact *next = fact;
    while (next && next->enqueues_nothing)
        next = gw_fact_after(judge, next);
    if (!next || next->step == GW_NONE)
        return false;
    const struct gw_step *step = &model->steps[next->step];
    if (model->calls[next->call].begin_ns == step->begin_ns)
        return uploads(model, step);
    for (uint32_t i = 0; i < step->op_count && next->cls == GW_CALL_COPY; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[step->first_op + i]];
        if (op->outer_call == next->call)
            return true;
        if (op->kind == GW_OP_KERNEL || op->kind == GW_OP_GRAPH)
            return false;
    }
    return false;
}

/* What is known of a thread: whether it enqueues work in the analysed steps (threads that only look now and then sleep
 * in between), and whether it slept there. */
struct dispatcher {
    bool enqueues, sleeps;
    bool feeds; /* it enqueues nothing, but others slept until it had done something */
};

/* The thread that handed over to this one at the end of its sleep, or GW_NONE. */
static uint32_t waker_of(const struct gw_judge *judge, const struct gw_fact *fact)
{
    uint32_t node = judge->replay ? gw_replay_node_of(judge->replay, fact->call) : GW_NONE;
    uint32_t by = node == GW_NONE ? GW_NONE : judge->replay->nodes[node].handed_by;
    return by == GW_NONE ? GW_NONE : judge->replay->nodes[by].thread;
}

/* By thread. The caller frees; NULL: no memory. */
static struct dispatcher *find_dispatchers(const struct gw_judge *judge)
{
    struct dispatcher *threads = calloc(judge->model->threads_count + 1, sizeof *threads);
    for (size_t i = 0; threads && i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        if (fact->step == GW_NONE || fact->enqueues_nothing || threads[gw_fact_thread(judge, fact)].enqueues)
            continue;
        const struct gw_op_range ops = gw_fact_ops(judge, fact);
        threads[gw_fact_thread(judge, fact)].enqueues = ops.first < ops.end;
    }
    return threads;
}

static int judge_sleep(struct gw_judge *judge, struct gw_verdict *verdict, bool head)
{
    struct gw_finding finding;
    double asleep_ns = 0, preempted_ns = 0, rare_asleep_ns = 0;
    uint32_t sleepers = 0;
    /* A late batch is a late batch, however rare; elsewhere one long sleep in a while is a hiccup. */
    const uint64_t rare_ns = head ? GW_TIME_UNKNOWN : rare_pause_ns(judge, true);
    struct dispatcher *dispatchers = find_dispatchers(judge);
    int ret = dispatchers && rare_ns ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(dispatchers);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        if (!before || before->step == GW_NONE || fact->compiling || !dispatchers[gw_fact_thread(judge, fact)].enqueues)
            continue;
        uint64_t blocked = 0;
        gw_fact_pause_ns(judge, fact, &blocked);
        if (blocked < SLEEP_LEAST_NS || is_step_head(judge, fact) != head)
            continue;
        /* Where a thread that enqueues work woke it, that one's own sleep counts. */
        const uint32_t waker = waker_of(judge, fact);
        if (waker != GW_NONE && dispatchers[waker].enqueues)
            continue;
        const struct gw_call *call = &judge->model->calls[fact->call];
        if (!gw_host_slept(&judge->host, call->thread, judge->model->calls[before->call].end_ns, call->begin_ns)) {
            preempted_ns += (double)blocked;
            continue;
        }
        if (is_rare(judge, before->step, blocked, rare_ns)) {
            rare_asleep_ns += (double)blocked;
            continue;
        }
        asleep_ns += (double)blocked;
        sleepers += !dispatchers[gw_fact_thread(judge, fact)].sleeps;
        dispatchers[gw_fact_thread(judge, fact)].sleeps = true;
        gw_finding_mark(&finding, judge, fact, GW_EDIT_NO_BLOCK);
        if (waker != GW_NONE)
            dispatchers[waker].feeds = true;
    }
    /* The data are there in the repaired run: their loader takes no time between its calls. */
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        if (fact->step != GW_NONE && dispatchers[gw_fact_thread(judge, fact)].feeds)
            gw_finding_edit(&finding, judge, fact, GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK);
    }
    /* Several may sleep at the same time, and for longer than a step: what they do in all can exceed it. */
    char who[64] = "the dispatching thread sleeps", rare[80] = "";
    if (rare_asleep_ns > 0)
        snprintf(rare, sizeof rare, ", rare sleeps in slow steps apart (%.3f ms a step)",
                 gw_a_step(judge, rare_asleep_ns) / 1e6);
    if (sleepers > 1)
        snprintf(who, sizeof who, "%u dispatching threads, added up, sleep", sleepers);
    ret = gw_finding_conclude(&finding, judge, verdict,
                              head ? "%s %.3f ms a step before the step's first work%s, and other programs take %s CPU "
                                     "for %.3f ms"
                                   : "%s %.3f ms within a step%s, and other programs take %s CPU for %.3f ms",
                              who, gw_a_step(judge, asleep_ns) / 1e6, rare, sleepers > 1 ? "their" : "its",
                              gw_a_step(judge, preempted_ns) / 1e6);
    free(dispatchers);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_input_starved(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_sleep(judge, verdict, true);
}

int gw_judge_host_blocked(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_sleep(judge, verdict, false);
}

static bool is_slow_query(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_call *call = &judge->model->calls[fact->call];
    if (fact->step == GW_NONE || fact->cls != GW_CALL_OTHER || call->end_ns - call->begin_ns < QUERY_LEAST_NS)
        return false;
    const char *name = gw_function_name(call->function);
    return strstr(name, "Get") || strstr(name, "Query");
}

int gw_judge_slow_query(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double query_ns = 0;
    /* By function: a query that is quick but once in a while was interrupted, and is no slow one. */
    struct {
        uint32_t all, slow;
    } *counts = calloc(UINT16_MAX + 1, sizeof(*counts));
    int ret = counts ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(counts);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const uint16_t function = judge->model->calls[judge->facts[i].call].function;
        counts[function].all += judge->facts[i].step != GW_NONE;
        counts[function].slow += is_slow_query(judge, &judge->facts[i]);
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        if (!is_slow_query(judge, fact) || 2 * counts[call->function].slow < counts[call->function].all)
            continue;
        query_ns += (double)(call->end_ns - call->begin_ns);
        gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict, "%.2f slow queries a step take %.3f ms",
                              gw_a_step(judge, (double)finding.count), gw_a_step(judge, query_ns) / 1e6);
    gw_finding_release(&finding);
    free(counts);
    return ret;
}
