#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/judge.h"
#include "shim/api/functions.h"

#define NOISY_SHARE 0.1 /* of a step: a bound that is no comfort … */
#define NOISY_PART 0.25 /* … when so much of it comes from the noise of the steps */

int gw_finding_init(struct gw_finding *ret_finding, const struct gw_judge *judge)
{
    *ret_finding = (struct gw_finding){.cap_ns = -1};
    ret_finding->edits = calloc(judge->model->calls_count + 1, 1);
    ret_finding->step_ns = calloc(judge->model->steps_count + 1, sizeof *ret_finding->step_ns);
    if (!ret_finding->edits || !ret_finding->step_ns) {
        gw_finding_release(ret_finding);
        return -ENOMEM;
    }
    return 0;
}

void gw_finding_release(struct gw_finding *finding)
{
    free(finding->edits);
    free(finding->step_ns);
    *finding = (struct gw_finding){0};
}

/* Idle time of a device in [from, to) and on from there while it stays idle; the longest of the process's devices. */
static uint64_t idle_from(const struct gw_judge *judge, uint32_t process, uint64_t from, uint64_t to)
{
    uint64_t longest = 0;
    for (uint32_t d = judge->first_device[process]; d != GW_NONE; d = judge->next_device[d]) {
        const size_t end = judge->device_gaps[d + 1];
        size_t low = GW_FIRST_NOT(judge->device_gaps[d], end, middle, judge->budget->gaps[middle].end_ns <= from);
        uint64_t idle = 0, reached = to;
        for (; low < end && judge->budget->gaps[low].begin_ns <= to; low++) {
            const struct gw_gap *gap = &judge->budget->gaps[low];
            idle += gap->end_ns - (gap->begin_ns > from ? gap->begin_ns : from);
            reached = gap->end_ns > reached ? gap->end_ns : reached;
        }
        if (low < end && judge->budget->gaps[low].begin_ns <= reached)
            idle += judge->idle_on_ns[low];
        longest = idle > longest ? idle : longest;
    }
    return longest;
}

void gw_finding_edit(struct gw_finding *finding, const struct gw_judge *judge, const struct gw_fact *fact, uint8_t edit)
{
    const struct gw_call *call = &judge->model->calls[fact->call];
    uint32_t process = judge->model->threads[call->thread].process;
    uint64_t from = call->begin_ns, blocked = 0, pause = 0, host = 0, ops = 0;
    if (finding->edits[fact->call])
        return;
    if (edit & (GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK))
        pause = gw_fact_pause_ns(judge, fact, &blocked);
    finding->edits[fact->call] = edit;
    if (edit & GW_EDIT_NO_THINK)
        host += pause - blocked;
    if (edit & GW_EDIT_NO_BLOCK)
        host += blocked;
    if (edit & (GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK))
        from -= pause;
    if (edit & (GW_EDIT_DROP | GW_EDIT_QUICK))
        host += call->end_ns - call->begin_ns;
    uint64_t to = edit & (GW_EDIT_DROP | GW_EDIT_QUICK) ? call->end_ns : call->begin_ns;
    uint64_t idle = idle_from(judge, process, from, to);
    /* What only takes time from the host brings what follows forward by no more than that: many short calls before one
     * long gap would each claim all of it. */
    const uint8_t of_host = GW_EDIT_DROP | GW_EDIT_QUICK | GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK;
    if (!(edit & ~of_host) && fact->cls != GW_CALL_ORDER && idle > host)
        idle = host;
    const struct gw_op_range range = gw_fact_ops(judge, fact);
    for (uint32_t i = range.first; i < range.end; i++) {
        const struct gw_op *op = &judge->model->ops[gw_call_ops_op(&judge->call_ops, i)];
        bool is_copy = op->kind == GW_OP_H2D || op->kind == GW_OP_D2H || op->kind == GW_OP_D2D || op->kind == GW_OP_P2P;
        if (!(op->flags & GW_OP_UNTIMED) &&
            (edit & GW_EDIT_NO_OP || (is_copy && edit & (GW_EDIT_QUICK | GW_EDIT_PINNED | GW_EDIT_OTHER_STREAM))))
            ops += op->end_ns - op->start_ns;
    }
    finding->host_ns += (double)(host + (edit & (GW_EDIT_DROP | GW_EDIT_QUICK) ? idle : 0));
    finding->op_ns += (double)ops;
    /* A pause lengthens the step of the call before it: the next step begins at its own first call. */
    const struct gw_fact *before = gw_fact_before(judge, fact);
    uint64_t outside = 0;
    if (before && before->step != GW_NONE && before->step != fact->step) {
        outside = (edit & GW_EDIT_NO_THINK ? pause - blocked : 0) + (edit & GW_EDIT_NO_BLOCK ? blocked : 0);
        finding->step_ns[before->step] += outside;
    }
    if (fact->step != GW_NONE)
        finding->step_ns[fact->step] += host - outside + ops;
}

void gw_finding_mark(struct gw_finding *finding, const struct gw_judge *judge, const struct gw_fact *fact, uint8_t edit)
{
    const struct gw_call *call = &judge->model->calls[fact->call];
    uint64_t blocked = 0, pause = 0, begin = call->begin_ns;
    if (edit & (GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK))
        pause = gw_fact_pause_ns(judge, fact, &blocked);
    gw_finding_edit(finding, judge, fact, edit);
    finding->count++;
    uint64_t inside = edit & ~(GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK) ? call->end_ns - begin : 0;
    gw_finding_evidence(finding, begin - pause, inside + pause, fact->call);
}

double gw_finding_drop_all(struct gw_finding *finding, const struct gw_judge *judge, gw_fact_test *belongs)
{
    double ns = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        if (fact->step == GW_NONE || !belongs(judge, fact))
            continue;
        ns += (double)(call->end_ns - call->begin_ns);
        gw_finding_mark(finding, judge, fact, GW_EDIT_DROP);
    }
    return ns;
}

void gw_finding_evidence(struct gw_finding *finding, uint64_t t_ns, uint64_t duration_ns, uint32_t call)
{
    uint32_t at = finding->evidence_count;
    while (at > 0 && finding->evidence_ns[at - 1] < duration_ns)
        at--;
    if (at == GW_EVIDENCE_MAX)
        return;
    if (finding->evidence_count < GW_EVIDENCE_MAX)
        finding->evidence_count++;
    for (uint32_t i = finding->evidence_count - 1; i > at; i--) {
        finding->calls[i] = finding->calls[i - 1];
        finding->evidence_t_ns[i] = finding->evidence_t_ns[i - 1];
        finding->evidence_ns[i] = finding->evidence_ns[i - 1];
    }
    finding->calls[at] = call;
    finding->evidence_t_ns[at] = t_ns;
    finding->evidence_ns[at] = duration_ns;
}

/* ---- words ---- */

char *gw_describe_call(const struct gw_judge *judge, uint32_t index)
{
    const struct gw_model *model = judge->model;
    const struct gw_call *call = &model->calls[index];
    const struct gw_fact fact = gw_fact_of_call(judge, index);
    const struct gw_copy *copy = gw_fact_copy(judge, &fact);
    const struct gw_memory *memory = gw_fact_memory(judge, &fact);
    const struct gw_op *op = gw_fact_op(judge, &fact);
    const char *name = gw_function_name(call->function), *ending = "";
    char *text = NULL, *kernel = NULL;
    int length = -1;
    if (call->flags & GW_CALL_NO_END)
        ending = " (never returned)";
    if (copy) {
        static const char *const directions[] = {"to the GPU", "to the host", "on the GPU", "between GPUs",
                                                 "on the host"};
        bool pageable = copy->src_kind == GW_HOST_PAGEABLE || copy->dst_kind == GW_HOST_PAGEABLE;
        length = asprintf(&text, "%s of %llu bytes %s%s%s", name, (unsigned long long)copy->size_bytes,
                          copy->direction < 5 ? directions[copy->direction] : "", pageable ? ", pageable memory" : "",
                          ending);
    } else if (memory && memory->size_bytes) {
        length = asprintf(&text, "%s of %llu bytes%s", name, (unsigned long long)memory->size_bytes, ending);
    } else if (op && op->kind == GW_OP_KERNEL && op->name != GW_NONE &&
               (kernel = gw_kernel_name_short(model->names[op->name]))) {
        length = asprintf(&text, "%s of %s%s", name, kernel, ending);
    } else {
        length = asprintf(&text, "%s%s", name, ending);
    }
    free(kernel);
    return length < 0 ? NULL : text;
}

static int set_why(struct gw_verdict *verdict, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return -ENOMEM;
    free(verdict->why);
    verdict->why = text;
    return 0;
}

int gw_verdict_rule_out(struct gw_verdict *verdict, double bound_ns, const char *why, ...)
{
    va_list arguments;
    verdict->state = GW_RULED_OUT;
    verdict->bound_ms = bound_ns > 0 ? bound_ns / 1e6 : 0;
    va_start(arguments, why);
    int ret = set_why(verdict, why, arguments);
    va_end(arguments);
    return ret;
}

int gw_verdict_unknown(struct gw_verdict *verdict, const char *why, ...)
{
    va_list arguments;
    verdict->state = GW_UNKNOWN;
    va_start(arguments, why);
    int ret = set_why(verdict, why, arguments);
    va_end(arguments);
    return ret;
}

int gw_verdict_confirm(struct gw_verdict *verdict, const struct gw_judge *judge, double saving_ns, const char *why, ...)
{
    va_list arguments;
    verdict->state = GW_CONFIRMED;
    verdict->saving_ms = saving_ns / 1e6;
    verdict->saving_percent = judge->mean_ns > 0 ? 100 * saving_ns / judge->mean_ns : 0;
    va_start(arguments, why);
    int ret = set_why(verdict, why, arguments);
    va_end(arguments);
    return ret;
}

/* ---- the conclusion ---- */

/* In the replay nothing runs while the GPU's state is unknown, so that whatever does then counts to what is repaired.
 */
static double unseen_ns(const struct gw_judge *judge)
{
    return judge->unknown_ns > judge->threshold_ns ? judge->unknown_ns : 0;
}

enum gw_verdict_state gw_judge_saving(const struct gw_judge *judge, double saving_ns)
{
    if (saving_ns + judge->replay_doubt_ns < judge->threshold_ns)
        return GW_RULED_OUT;
    return saving_ns - judge->replay_doubt_ns - unseen_ns(judge) < judge->threshold_ns ? GW_UNKNOWN : GW_CONFIRMED;
}

int gw_judge_keep_repair(struct gw_judge *judge, const struct gw_repair *repair, const struct gw_kept_repair *kept)
{
    pthread_mutex_lock(&judge->lock);
    int ret = gw_repairs_keep(&judge->repairs, judge->replay, repair, kept);
    pthread_mutex_unlock(&judge->lock);
    return ret;
}

char *gw_judge_doubt_words(const struct gw_judge *judge)
{
    char *words = NULL, missed[100] = "", unseen[100] = "";
    if (judge->replay_doubt_ns > 0)
        snprintf(missed, sizeof missed, "; the replay misses the measured step by %.3f ms",
                 judge->replay_doubt_ns / 1e6);
    if (unseen_ns(judge) > 0)
        snprintf(unseen, sizeof unseen, "; the GPU's state is unknown for %.3f ms of a step", unseen_ns(judge) / 1e6);
    if (!*missed && !*unseen)
        return strdup("");
    return asprintf(&words, "%s%s, and this may be off by as much", missed, unseen) < 0 ? NULL : words;
}

static int store_evidence(const struct gw_finding *finding, const struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    for (uint32_t i = 0; i < finding->evidence_count; i++) {
        const uint64_t t_ns = finding->evidence_t_ns[i];
        char *call = gw_describe_call(judge, finding->calls[i]), *what = NULL;
        char *compiler =
            gw_compiler_words(judge, model->calls[finding->calls[i]].thread, t_ns, t_ns + finding->evidence_ns[i]);
        bool pause = !(finding->edits[finding->calls[i]] & (GW_EDIT_DROP | GW_EDIT_QUICK | GW_EDIT_PINNED)) &&
                     finding->edits[finding->calls[i]] & (GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK);
        if (!call || !compiler || asprintf(&what, "%s%s%s", pause ? "outside CUDA before " : "", call, compiler) < 0)
            what = NULL;
        free(call);
        free(compiler);
        if (!what)
            return -ENOMEM;
        verdict->evidence[verdict->evidence_count++] =
            (struct gw_evidence){finding->evidence_t_ns[i], finding->evidence_ns[i], what};
    }
    if (finding->evidence_count) {
        const struct gw_fact fact = gw_fact_of_call(judge, finding->calls[0]);
        const struct gw_op *op = gw_fact_op(judge, &fact);
        verdict->thread = model->calls[finding->calls[0]].thread;
        verdict->process = model->threads[verdict->thread].process;
        if (op && op->stream != GW_NONE) {
            verdict->stream = op->stream;
            verdict->device = model->streams[op->stream].device;
        }
    }
    return 0;
}

static double stepping_processes(const struct gw_model *model)
{
    double count = 0;
    for (size_t s = 0; s < model->steps_count; s++)
        count += s == 0 || model->steps[s].process != model->steps[s - 1].process;
    return fmax(count, 1);
}

/* The most the marked calls can cost a step: their time on the host and the devices, and never more than the devices
 * were idle, waited for other ranks or only copied. What one rank does all others may wait for, so that its time counts
 * in the steps of each. */
static double bound_of(const struct gw_finding *finding, const struct gw_judge *judge)
{
    double steps = fmax(judge->steps, 1), open_ns = judge->idle_ns + judge->class_ns[GW_CLASS_COMM_WAIT];
    if (judge->class_ns[GW_CLASS_COMM_WAIT] > 0)
        steps = fmax(judge->steps / stepping_processes(judge->model), 1);
    for (int c = GW_CLASS_COPY_H2D; c <= GW_CLASS_COPY_P2P; c++)
        open_ns += judge->class_ns[c];
    if (finding->overlaps)
        return judge->mean_ns;
    double bound = fmin((finding->host_ns + finding->op_ns) / steps, open_ns + finding->op_ns / steps);
    return finding->cap_ns >= 0 ? fmin(bound, finding->cap_ns) : bound;
}

static int replayed_saving(const struct gw_finding *finding, const struct gw_judge *judge, double *ret_saving_ns)
{
    const struct gw_repair repair = {.calls = finding->edits};
    double mean = 0;
    int ret = gw_replay_run(judge->replay, &repair, &mean, NULL);
    if (ret < 0)
        return ret;
    *ret_saving_ns = judge->replay_mean_ns - mean - finding->owed_ns / fmax(judge->steps, 1);
    if (finding->cap_ns >= 0)
        *ret_saving_ns = fmin(*ret_saving_ns, finding->cap_ns);
    return 0;
}

static int conclude_ruled_out(const struct gw_judge *judge, struct gw_verdict *verdict, double bound_ns,
                              const char *sign, const char *how)
{
    if (judge->unknown_ns > judge->threshold_ns && verdict->per_step > 0)
        return gw_verdict_unknown(verdict,
                                  "%s, but the GPU's state is unknown for %.3f ms of a step (operations without times)",
                                  sign, judge->unknown_ns / 1e6);
    /* Steps that differ this much among themselves neither confirm nor rule out what could cost as much. */
    if (bound_ns > NOISY_SHARE * judge->mean_ns && judge->noise_ns > NOISY_PART * bound_ns)
        return gw_verdict_unknown(verdict,
                                  "%s; it may cost up to %.3f ms of a step, but the steps vary by %.3f ms among "
                                  "themselves: record more steps, or choose them with --step REGEX",
                                  sign, bound_ns / 1e6, judge->noise_ns / 1e6);
    return gw_verdict_rule_out(verdict, bound_ns, "%s; %s %.3f ms of a step", sign, how, fmax(bound_ns, 0) / 1e6);
}

/* Remembers how much longer this fault made each step than it makes the median one, for the verdict on hiccups. */
static int note_explained(const struct gw_finding *finding, struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    uint64_t *sorted = calloc(model->steps_count + 1, sizeof *sorted);
    size_t count = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (!model->steps[s].warmup)
            sorted[count++] = finding->step_ns[s];
    }
    uint64_t usual = gw_upper_median_u64(sorted, count);
    pthread_mutex_lock(&judge->lock); /* other judges may be at work */
    for (size_t s = 0; s < model->steps_count; s++) {
        if (finding->step_ns[s] > usual && finding->step_ns[s] - usual > judge->explained_ns[s])
            judge->explained_ns[s] = finding->step_ns[s] - usual;
    }
    pthread_mutex_unlock(&judge->lock);
    free(sorted);
    return 0;
}

int gw_finding_conclude(struct gw_finding *finding, struct gw_judge *judge, struct gw_verdict *verdict,
                        const char *format, ...)
{
    char *sign = NULL, *doubt = NULL;
    va_list arguments;
    va_start(arguments, format);
    int ret = vasprintf(&sign, format, arguments) < 0 ? -ENOMEM : 0;
    va_end(arguments);
    if (ret < 0)
        return ret;
    verdict->per_step = gw_a_step(judge, (double)finding->count);
    for (size_t s = 0; s < judge->model->steps_count; s++)
        verdict->steps_affected += finding->step_ns[s] > 0;
    double bound = bound_of(finding, judge), saving = 0;
    if (finding->count && !judge->gpu_timed) {
        ret = gw_verdict_unknown(verdict, "%s, but what it costs needs GPU timing (record --gpu-timing=events)", sign);
        goto end;
    }
    if (!finding->count || bound < judge->threshold_ns) {
        ret = conclude_ruled_out(judge, verdict, finding->count ? bound : 0, sign, "it costs at most");
        goto end;
    }
    if (!judge->replay) {
        ret = gw_verdict_unknown(verdict,
                                 "%s; the replay does not reproduce this run, so what it costs is not known: at most "
                                 "%.3f ms of a step",
                                 sign, bound / 1e6);
        goto end;
    }
    doubt = gw_judge_doubt_words(judge);
    ret = doubt ? replayed_saving(finding, judge, &saving) : -ENOMEM;
    if (ret < 0)
        goto end;
    saving = fmin(saving, bound);
    enum gw_verdict_state state = gw_judge_saving(judge, saving);
    if (state == GW_CONFIRMED && saving < finding->least_ns) {
        ret = conclude_ruled_out(judge, verdict, fmin(saving + judge->noise_ns + judge->replay_doubt_ns, bound), sign,
                                 "mending that is hardly worth it, as it costs at most");
        goto end;
    }
    switch (state) {
    case GW_RULED_OUT:
        ret =
            conclude_ruled_out(judge, verdict, fmin(fmax(saving, 0) + judge->noise_ns + judge->replay_doubt_ns, bound),
                               sign, "without it what comes next limits the step, so it costs at most");
        break;
    case GW_UNKNOWN:
        ret = gw_verdict_unknown(verdict, "%s; it may cost %.3f ms of a step%s", sign, fmax(saving, 0) / 1e6, doubt);
        break;
    case GW_CONFIRMED:
        ret =
            gw_verdict_confirm(verdict, judge, saving, "%s; without it a step would take %.3f ms instead of %.3f ms%s",
                               sign, (judge->mean_ns - saving) / 1e6, judge->mean_ns / 1e6, doubt);
        break;
    }
    if (ret == 0 && verdict->state == GW_CONFIRMED) {
        const struct gw_repair repair = {.calls = finding->edits};
        const struct gw_kept_repair kept = {.id = verdict->id,
                                            .saving_ns = saving,
                                            .owed_ns = gw_a_step(judge, finding->owed_ns),
                                            .covered = 1,
                                            .capped = finding->cap_ns >= 0};
        ret = gw_judge_keep_repair(judge, &repair, &kept);
        if (ret == 0)
            ret = store_evidence(finding, judge, verdict);
        if (ret == 0 && !finding->waits)
            ret = note_explained(finding, judge);
    }
end:
    free(doubt);
    free(sign);
    return ret;
}
