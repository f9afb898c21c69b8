/*
 * Judges of ranks against each other: who arrives late in collectives and why, and the waits of a pipeline.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/arrivals.h"
#include "analyzer/verdicts/device_work.h"
#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/rank_parts.h"

/* Late in this share of the time lost, a rank is the late one; else they take turns. */
#define LATE_SHARE 0.6
/* GPUs of one kind differ by less than this in what they take for the same work: beyond, it is other work. */
#define OTHER_WORK 1.4

/* ---- who is late ---- */

/* By device: how much later than the median rank it arrived where it was last, over all exchanges. */
struct lateness {
    double *by_device; /* ns */
    double total_ns, exchanges;
};

/* What a sum over exchanges is in a step of the job, of which each process has one. */
static double a_step_of_all(const struct gw_judge *judge, double sum)
{
    const struct gw_model *model = judge->model;
    uint32_t processes = 0, last = GW_NONE;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (model->steps[s].warmup || model->steps[s].process == last)
            continue;
        last = model->steps[s].process;
        processes++;
    }
    return gw_a_step(judge, sum) * fmax(processes, 1);
}

static int compare_arrivals(const void *left, const void *right)
{
    const struct gw_comm_kernel *a = *(const struct gw_comm_kernel *const *)left,
                                *b = *(const struct gw_comm_kernel *const *)right;
    if (a->arrived_ns != b->arrived_ns)
        return a->arrived_ns < b->arrived_ns ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Kernels of one exchange have the same last arrival; the last of them was late by its distance from the median. */
static int find_late(const struct gw_judge *judge, struct gw_comm_plan *plan, struct lateness *late)
{
    const struct gw_comm *comm = judge->comm;
    const struct gw_comm_kernel **kernels = calloc(comm->kernels_count + 1, sizeof *kernels);
    size_t count = 0;
    int ret = kernels ? 0 : -ENOMEM;
    for (size_t i = 0; kernels && i < comm->kernels_count; i++) {
        if (gw_is_collective(&comm->kernels[i]))
            kernels[count++] = &comm->kernels[i];
    }
    if (kernels)
        qsort(kernels, count, sizeof *kernels, compare_arrivals);
    for (size_t from = 0, to; from < count && ret == 0; from = to) {
        for (to = from; to < count && kernels[to]->arrived_ns == kernels[from]->arrived_ns;)
            to++;
        if (to - from < GW_RANKS_LEAST)
            continue;
        const size_t middle = from + (to - from - 1) / 2;
        const struct gw_comm_kernel *last = kernels[to - 1];
        double by_ns = (double)(last->start_ns - kernels[middle]->start_ns);
        late->by_device[last->device] += by_ns;
        late->total_ns += by_ns;
        late->exchanges++;
        ret = gw_comm_plan_mark(plan, kernels[from]->op); /* who waits longest */
    }
    free(kernels);
    return ret;
}

/* Budget of a device in a step, NULL when it has none. Cells are in order of step, then device. */
static const struct gw_step_budget *cell_of(const struct gw_judge *judge, uint32_t step, uint32_t device)
{
    const struct gw_budget *budget = judge->budget;
    const struct gw_step_budget *cells = budget->cells;
    const size_t at = GW_FIRST_NOT(0, budget->cells_count, c,
                                   cells[c].step < step || (cells[c].step == step && cells[c].device < device));
    const bool found = at < budget->cells_count && cells[at].step == step && cells[at].device == device;
    return found ? &cells[at] : NULL;
}

/* What the device that communicates least in a step, since all wait for it, does instead, against the mean of the
 * others. */
static void add_difference(const struct gw_judge *judge, const struct gw_rank_part *parts, size_t count, double *more)
{
    const struct gw_step_budget *least = NULL;
    double sum[GW_CLASS_COUNT] = {0}, others = 0;
    for (size_t p = 0; p < count; p++) {
        const struct gw_step_budget *cell = cell_of(judge, parts[p].step, parts[p].device);
        if (cell && (!least || cell->ns[GW_CLASS_COMM_WAIT] < least->ns[GW_CLASS_COMM_WAIT]))
            least = cell;
    }
    for (size_t p = 0; p < count; p++) {
        const struct gw_step_budget *cell = cell_of(judge, parts[p].step, parts[p].device);
        if (!cell || cell == least)
            continue;
        others++;
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            sum[c] += (double)cell->ns[c];
    }
    for (int c = 0; least && others > 0 && c < GW_CLASS_COUNT; c++)
        more[c] += (double)least->ns[c] - sum[c] / others;
}

static enum gw_class what_more(const struct gw_judge *judge, const struct gw_rank_part *parts, size_t count,
                               double *ret_ns)
{
    double more[GW_CLASS_COUNT] = {0};
    int most = GW_CLASS_COMPUTE;
    double groups = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && parts[to].match == parts[from].match;)
            to++;
        add_difference(judge, &parts[from], to - from, more);
        groups++;
    }
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (c != GW_CLASS_COMM_WAIT && c != GW_CLASS_COMM_TRANSFER && c != GW_CLASS_COMM_EXPOSED &&
            more[c] > more[most])
            most = c;
    }
    *ret_ns = more[most] / fmax(groups, 1);
    return (enum gw_class)most;
}

/* *ret_fixed: it is always the same rank. */
static char *who_is_late(const struct gw_judge *judge, const struct lateness *late, struct gw_verdict *verdict,
                         bool *ret_fixed)
{
    const struct gw_model *model = judge->model;
    uint32_t worst = 0;
    char *text = NULL;
    for (uint32_t d = 1; d < model->devices_count; d++) {
        if (late->by_device[d] > late->by_device[worst])
            worst = d;
    }
    double share = late->total_ns > 0 ? late->by_device[worst] / late->total_ns : 0;
    verdict->device = worst;
    verdict->process = model->devices[worst].process;
    int length;
    *ret_fixed = share >= LATE_SHARE;
    if (*ret_fixed) {
        uint32_t first = judge->comm->device_kernels[worst];
        const struct gw_collective *collective = &model->collectives[judge->comm->kernels[first].collective];
        length = asprintf(&text, "rank %u is late, for %.0f %% of the time",
                          model->communicators[collective->communicator].rank, 100 * share);
    } else {
        length = asprintf(&text, "ranks take turns at being late, the worst for %.0f %% of the time", 100 * share);
    }
    return length < 0 ? NULL : text;
}

/* Where the late rank has more work than the others, it has to be done all the same: the saving is that of `imbalance`,
 * the same replay. Returns 1 when the verdict is made so, 0 when this is another case, or -ENOMEM. */
static int judge_other_work(struct gw_judge *judge, struct gw_verdict *verdict, struct gw_comm_plan *plan,
                            const char *who)
{
    struct gw_device_work work = {0};
    int ret = gw_device_work_create(judge, false, &work);
    if (ret < 0 || work.busiest != verdict->device || work.most_ns < OTHER_WORK * work.median_ns)
        goto end;
    plan->marked_count = 0;
    if ((ret = gw_device_work_balance(plan, judge, &work)) < 0)
        goto end;
    ret = gw_comm_plan_conclude(plan, judge, verdict,
                                "%s, since its GPU has %.3f ms of work a step and the median one %.3f ms: it is the "
                                "work that is unequal (imbalance), and with that of each as long as the mean the run "
                                "was replayed",
                                who, work.most_ns / 1e6, work.median_ns / 1e6);
    ret = ret < 0 ? ret : 1;
end:
    gw_device_work_release(&work);
    return ret;
}

int gw_judge_straggler(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    struct lateness late = {0};
    struct gw_rank_part *parts = NULL;
    double more_ns = 0;
    char *who = NULL;
    bool is_fixed = false;
    size_t count = 0, balanced = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    ret = -ENOMEM;
    if (gw_comm_plan_init(&plan, judge) < 0)
        goto end;
    late.by_device = calloc(judge->model->devices_count + 1, sizeof *late.by_device);
    if (!late.by_device || (ret = find_late(judge, &plan, &late)) < 0)
        goto end;
    if (!plan.marked_count) {
        ret = gw_verdict_rule_out(verdict, 0, "no collective of several ranks in the analysed steps");
        goto end;
    }
    double lost_ns = a_step_of_all(judge, late.total_ns);
    if (judge->class_ns[GW_CLASS_COMM_WAIT] < judge->threshold_ns) {
        verdict->per_step = gw_a_step(judge, late.exchanges);
        ret = gw_verdict_rule_out(verdict, judge->class_ns[GW_CLASS_COMM_WAIT],
                                  "the GPUs wait for a rank, and do nothing else, for %.3f ms of a step",
                                  judge->class_ns[GW_CLASS_COMM_WAIT] / 1e6);
        goto end;
    }
    if (!judge->replay) {
        ret = gw_verdict_unknown(verdict,
                                 "the last rank arrives %.3f ms a step after the median one; the replay does not "
                                 "reproduce this run, so what that costs is not known",
                                 lost_ns / 1e6);
        goto end;
    }
    ret = -ENOMEM;
    parts = gw_rank_parts(judge, &count);
    who = who_is_late(judge, &late, verdict, &is_fixed);
    if (!parts || !who)
        goto end;
    enum gw_class more = what_more(judge, parts, count, &more_ns);
    if (is_fixed && more == GW_CLASS_COMPUTE && (ret = judge_other_work(judge, verdict, &plan, who)) != 0) {
        ret = ret < 0 ? ret : 0;
        goto end;
    }
    if ((ret = gw_rank_parts_balance(&plan, judge, parts, count, &balanced)) < 0)
        goto end;
    if (balanced < count / 2) {
        ret = gw_verdict_unknown(
            verdict, "%s; ranks enqueue different operations, so what balanced ones would save is not known", who);
        goto end;
    }
    ret = gw_comm_plan_conclude(
        &plan, judge, verdict,
        "%s; the last rank arrives %.3f ms a step after the median one, and does more of this than "
        "the others: %s, %.3f ms a step",
        who, lost_ns / 1e6, gw_class_words(more), more_ns / 1e6);
    /* Ranks wait all the same where what makes one late has no counterpart on the others: a read or a pause of its own.
     */
    if (ret == 0 && verdict->state == GW_RULED_OUT && judge->class_ns[GW_CLASS_COMM_WAIT] >= 2 * judge->threshold_ns) {
        free(verdict->why);
        verdict->why = NULL;
        ret = gw_verdict_unknown(
            verdict,
            "%s; the last rank arrives %.3f ms a step after the median one, which balanced "
            "operations would not change: look for calls and pauses that it alone has (%s, %.3f ms a "
            "step more than the others)",
            who, lost_ns / 1e6, gw_class_words(more), more_ns / 1e6);
    }
end:
    gw_comm_plan_release(&plan);
    free(late.by_device);
    free(parts);
    free(who);
    return ret;
}

/* ---- pipelines ---- */

/* Time of a device in which it only waits for a partner's message, in the analysed steps, and how many of these have
 * work of it: the thread of a device may be some steps ahead of the one that begins the process's steps. */
static int message_wait(const struct gw_judge *judge, const uint64_t *arrived_ns, uint32_t device, double *ret_ns,
                        double *ret_steps)
{
    const struct gw_comm *comm = judge->comm;
    const struct gw_model *model = judge->model;
    size_t room = comm->device_first[device + 1] - comm->device_first[device], count = 0;
    struct gw_segments segments = {0};
    uint32_t *ops = calloc(room + 1, sizeof *ops);
    uint64_t begin = UINT64_MAX, end = 0;
    double wait = 0, steps = 0;
    uint32_t step = GW_NONE;
    int ret = ops ? 0 : -ENOMEM;
    for (uint32_t i = comm->device_first[device]; ops && i < comm->device_first[device + 1]; i++) {
        uint32_t op = comm->device_ops[i], place = gw_comm_kernel_of(comm, judge->model, op);
        if (comm->op_step[op] == GW_NONE || (place != GW_NONE && !comm->kernels[place].is_message))
            continue;
        ops[count++] = op;
        steps += comm->op_step[op] != step;
        step = comm->op_step[op];
        begin = model->ops[op].start_ns < begin ? model->ops[op].start_ns : begin;
        end = model->ops[op].end_ns > end ? model->ops[op].end_ns : end;
    }
    if (count)
        ret = gw_segments_create(model, ops, count, arrived_ns, begin, end, &segments);
    for (size_t i = 0; i < segments.list_count; i++) {
        if (segments.list[i].cls == GW_CLASS_COMM_WAIT)
            wait += (double)(segments.list[i].end_ns - segments.list[i].begin_ns);
    }
    free(segments.list);
    free(ops);
    *ret_ns = wait;
    *ret_steps = fmax(steps, 1);
    return ret;
}

/* The wait of the device that waits least, which more micro-batches would shorten: what others wait beyond it comes
 * from unequal stages. *ret_messages: messages of that device a step. */
static int find_bubble(const struct gw_judge *judge, const uint64_t *arrived_ns, struct gw_verdict *verdict,
                       double *ret_bubble_ns, double *ret_messages)
{
    const struct gw_comm *comm = judge->comm;
    double least = -1;
    for (uint32_t d = 0; d < judge->model->devices_count; d++) {
        double messages = 0, wait = 0, steps = 1;
        for (uint32_t i = comm->device_kernels[d]; i < comm->device_kernels[d + 1]; i++)
            messages += comm->kernels[i].is_message ? comm->kernels[i].count : 0;
        if (messages == 0)
            continue;
        int ret = message_wait(judge, arrived_ns, d, &wait, &steps);
        if (ret < 0)
            return ret;
        if (least >= 0 && wait / steps >= least)
            continue;
        least = wait / steps;
        verdict->device = d;
        verdict->process = judge->model->devices[d].process;
        *ret_messages = messages / steps;
    }
    *ret_bubble_ns = fmax(least, 0);
    return 0;
}

int gw_judge_pipeline_bubble(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_comm *comm = judge->comm;
    uint64_t *arrived_ns = NULL;
    double bubble = 0, messages = 0;
    size_t count = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    for (size_t i = 0; i < comm->kernels_count; i++)
        count += comm->kernels[i].is_message;
    if (!count)
        return gw_verdict_rule_out(verdict, 0, "no rank sends to or receives from another in the analysed steps");
    if ((ret = gw_arrivals_create(judge->model, &arrived_ns)) < 0)
        return ret;
    ret = find_bubble(judge, arrived_ns, verdict, &bubble, &messages);
    free(arrived_ns);
    if (ret < 0)
        return ret;
    verdict->per_step = gw_a_step(judge, (double)count);
    double saving = bubble / 2;
    if (saving < judge->threshold_ns) {
        verdict->device = verdict->process = GW_NONE;
        return gw_verdict_rule_out(verdict, saving, "every rank waits for messages at least %.3f ms of a step",
                                   bubble / 1e6);
    }
    for (size_t i = 0; i < comm->kernels_count; i++) {
        if (comm->kernels[i].is_message && ret == 0)
            ret = gw_comm_evidence(judge, verdict, comm->kernels[i].op);
    }
    return ret < 0
               ? ret
               : gw_verdict_confirm(verdict, judge, saving,
                                    "with %.0f messages a step, every rank waits for messages at least %.3f ms of a "
                                    "step; the saving is half of that, not replayed: so much shorter is the wait with "
                                    "twice as many micro-batches of half the size",
                                    messages, bubble / 1e6);
}
