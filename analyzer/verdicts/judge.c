#include "analyzer/verdicts/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/read/parallel.h"
#include "analyzer/verdicts/comm.h"
#include "analyzer/verdicts/device_steps.h"
#include "analyzer/verdicts/intervals.h"

/* Share of launches that must return after their kernel for launches to count as blocking. */
#define BLOCKING_SHARE 0.8
/* The unchanged replay must come this near to the measured median step. */
#define REPLAY_EXACT_PERCENT 2.0   /* a replay this near to the measured step reproduces it … */
#define REPLAY_USABLE_PERCENT 10.0 /* … and one this near still tells, by as much as it is off, what a repair saves */

/* ---- facts ---- */

#define NEARBY 64u /* calls */

/* What a call and those nested in it tell. */
struct inside {
    uint64_t compile_ns; /* in loads and compilations */
    uint32_t argument;   /* the first of them that has typed arguments, or GW_NONE */
};

/* Looks through a call and the calls nested in it: they follow it among its thread's calls, one deeper. `place`: where
 * it is among those. */
static struct inside look_inside(const struct gw_model *model, const struct gw_call *outer, uint32_t place)
{
    const struct gw_thread *thread = &model->threads[outer->thread];
    struct inside inside = {.argument = GW_NONE};
    for (uint32_t i = place; i < thread->call_count; i++) {
        const uint32_t index = model->thread_calls[thread->call_first + i];
        const struct gw_call *call = &model->calls[index];
        if (i != place && (call->depth <= 1 || call->begin_ns > outer->end_ns))
            break;
        if (inside.argument == GW_NONE && call->detail_kind != GW_DETAIL_NONE && call->detail != GW_NONE)
            inside.argument = index;
        if (i != place && call->depth == 2 && gw_call_class(call->function) == GW_CALL_COMPILE)
            inside.compile_ns += call->end_ns - call->begin_ns;
    }
    return inside;
}

/* The same of a fact, whose place is not known. */
static struct inside look_inside_fact(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_call *call = &judge->model->calls[fact->call];
    const struct gw_thread *thread = &judge->model->threads[call->thread];
    const uint32_t *calls = &judge->model->thread_calls[thread->call_first];
    return look_inside(judge->model, call, (uint32_t)GW_FIRST_NOT(0, thread->call_count, c, calls[c] < fact->call));
}

/* Notes what look_inside told. */
static void take_inside(const struct gw_judge *judge, const struct inside *inside, struct gw_fact *fact)
{
    fact->loads = inside->compile_ns > 0;
    if (inside->argument == GW_NONE)
        return;
    fact->detail_kind = judge->model->calls[inside->argument].detail_kind;
    fact->argument_inside = inside->argument != fact->call;
}

struct gw_fact gw_fact_of_call(const struct gw_judge *judge, uint32_t call)
{
    struct gw_fact fact = {.call = call, .step = GW_NONE, .op_place = GW_CALL_OPS_FAR};
    const struct inside inside = look_inside_fact(judge, &fact);
    take_inside(judge, &inside, &fact);
    return fact;
}

/* Nothing a judge could ask about, apart from its times. */
static bool is_plain(const struct gw_fact *fact)
{
    return fact->step == GW_NONE && fact->cls == GW_CALL_OTHER && fact->detail_kind == GW_DETAIL_NONE && !fact->loads &&
           fact->enqueues_nothing;
}

/* `place`: of the call among its thread's. *step goes on from fact to fact of a thread: the step they lie in. */
static struct gw_fact fact_of(const struct gw_judge *judge, uint32_t index, uint32_t place, size_t *step)
{
    const struct gw_model *model = judge->model;
    const struct gw_call *call = &model->calls[index];
    const struct gw_thread *thread = &model->threads[call->thread];
    uint32_t process = thread->process;
    struct gw_fact fact = {.call = index, .step = GW_NONE};
    fact.cls = (uint8_t)gw_call_class(call->function);
    fact.op_place = gw_call_ops_place(&judge->call_ops, index);
    const struct gw_op_range range = gw_call_ops_from(&judge->call_ops, index, fact.op_place);
    fact.enqueues_nothing = range.first == range.end;
    const struct gw_lane_steps *steps = &judge->lane_steps;
    struct gw_interval time = {0, 0};
    for (; *step < steps->step_end[process]; ++*step) {
        time = gw_lane_step_time(steps, process, thread->lane, (uint32_t)*step);
        if (time.end_ns > call->begin_ns)
            break;
    }
    if (*step < steps->step_end[process] && call->begin_ns >= time.begin_ns && !model->steps[*step].warmup)
        fact.step = (uint32_t)*step;
    const struct inside inside = look_inside(model, call, place);
    take_inside(judge, &inside, &fact);
    return fact;
}

/* The facts of each thread, at the place of its first call among the model's thread_calls at first. */
struct fact_lists {
    const struct gw_judge *judge;
    struct gw_fact *facts;
    size_t *counts; /* by thread */
};

/* Finds out before which facts of a thread, which are in order of begin, as its records are, records tell of the CPU.
 */
static void note_gaps(const struct gw_judge *judge, size_t thread, struct gw_fact *facts, size_t count)
{
    const struct gw_model *model = judge->model;
    size_t gap = judge->host.thread_gaps[thread], end = judge->host.thread_gaps[thread + 1];
    for (size_t i = 1; i < count; i++) {
        const uint64_t from = model->calls[facts[i - 1].call].end_ns, to = model->calls[facts[i].call].begin_ns;
        while (gap < end && model->thread_gaps[gap].end_ns <= from)
            gap++;
        facts[i].gap_before = gap < end && model->thread_gaps[gap].begin_ns < to;
    }
}

static int list_facts(void *user, size_t thread)
{
    const struct fact_lists *lists = user;
    const struct gw_model *model = lists->judge->model;
    const struct gw_thread *of = &model->threads[thread];
    struct gw_fact *facts = lists->facts + of->call_first;
    size_t step = lists->judge->lane_steps.step_first[of->process], count = 0;
    for (uint32_t i = 0; i < of->call_count; i++) {
        const uint32_t index = model->thread_calls[of->call_first + i];
        if (model->calls[index].depth > 1)
            continue;
        struct gw_fact fact = fact_of(lists->judge, index, i, &step);
        bool replaces = count >= 2 && is_plain(&fact) && is_plain(&facts[count - 1]) && is_plain(&facts[count - 2]);
        count -= replaces;
        facts[count++] = fact;
    }
    note_gaps(lists->judge, thread, facts, count);
    lists->counts[thread] = count;
    return 0;
}

static int make_facts(struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    size_t threads = model->threads_count;
    struct fact_lists lists = {.judge = judge,
                               .facts = malloc((model->thread_calls_count + 1) * sizeof *lists.facts),
                               .counts = calloc(threads + 1, sizeof *lists.counts)};
    if (!lists.facts || !lists.counts) {
        free(lists.facts);
        free(lists.counts);
        return -ENOMEM;
    }
    gw_parallel_for(threads, list_facts, &lists);
    for (size_t t = 0; t < threads; t++) {
        memmove(lists.facts + judge->facts_count, lists.facts + model->threads[t].call_first,
                lists.counts[t] * sizeof *lists.facts);
        judge->facts_count += lists.counts[t];
    }
    struct gw_fact *kept = reallocarray(lists.facts, judge->facts_count + 1, sizeof *kept);
    judge->facts = kept ? kept : lists.facts;
    free(lists.counts);
    return 0;
}

uint64_t gw_fact_compile_ns(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->loads ? look_inside_fact(judge, fact).compile_ns : 0;
}

/* Its typed arguments' place in their array. Nested calls begin soon after it, so that few of other threads lie
 * between; where many do, they are looked for among its thread's. */
static uint32_t argument_of(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_call *calls = judge->model->calls, *outer = &calls[fact->call];
    if (!fact->argument_inside)
        return outer->detail;
    const size_t left = judge->model->calls_count - fact->call;
    for (size_t i = 1; i < left && i <= NEARBY; i++) {
        if (outer[i].thread == outer->thread && outer[i].detail_kind != GW_DETAIL_NONE && outer[i].detail != GW_NONE)
            return outer[i].detail;
    }
    return calls[look_inside_fact(judge, fact).argument].detail;
}

const struct gw_copy *gw_fact_copy(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->detail_kind == GW_DETAIL_COPY ? &judge->model->copies[argument_of(judge, fact)] : NULL;
}

const struct gw_memory *gw_fact_memory(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->detail_kind == GW_DETAIL_MEMORY ? &judge->model->memories[argument_of(judge, fact)] : NULL;
}

const struct gw_order *gw_fact_order(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->detail_kind == GW_DETAIL_ORDER ? &judge->model->orders[argument_of(judge, fact)] : NULL;
}

struct gw_op_range gw_fact_ops(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->enqueues_nothing ? (struct gw_op_range){0, 0}
                                  : gw_call_ops_from(&judge->call_ops, fact->call, fact->op_place);
}

const struct gw_op *gw_fact_op(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_call_ops *ops = &judge->call_ops;
    const struct gw_op_range range = gw_fact_ops(judge, fact);
    for (uint32_t i = range.first; i < range.end; i++) {
        if (gw_op_is_busy(&judge->model->ops[gw_call_ops_op(ops, i)]))
            return &judge->model->ops[gw_call_ops_op(ops, i)];
    }
    return NULL;
}

uint64_t gw_fact_pause_ns(const struct gw_judge *judge, const struct gw_fact *fact, uint64_t *ret_blocked_ns)
{
    const struct gw_fact *before = gw_fact_before(judge, fact);
    *ret_blocked_ns = 0;
    if (!before)
        return 0;
    const struct gw_call *call = &judge->model->calls[fact->call];
    uint64_t from = judge->model->calls[before->call].end_ns;
    if (from >= call->begin_ns)
        return 0;
    if (fact->gap_before)
        *ret_blocked_ns = gw_host_blocked_ns(&judge->host, call->thread, from, call->begin_ns);
    return call->begin_ns - from;
}

/* ---- measures of the run ---- */

/* The noise of a mean saving is the standard error of the mean step. The deviation comes from the median of absolute
 * deviations, so that a fault in a few steps does not hide itself, and from the steps as the devices see them. */
static int measure_steps(struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    double *lengths = calloc(model->steps_count + 1, sizeof *lengths);
    size_t count = 0;
    judge->device_steps = calloc(model->steps_count + 1, sizeof *judge->device_steps);
    if (!lengths || !judge->device_steps) {
        free(lengths);
        return -ENOMEM;
    }
    gw_device_steps(model, judge->device_steps);
    for (size_t s = 0; s < model->steps_count; s++) {
        if (model->steps[s].warmup)
            continue;
        judge->mean_ns += (double)(judge->budget->times[s].end_ns - judge->budget->times[s].begin_ns);
        lengths[count++] = (double)(judge->device_steps[s].end_ns - judge->device_steps[s].begin_ns);
    }
    judge->mean_ns /= fmax((double)count, 1);
    judge->median_ns = gw_upper_median(lengths, count);
    for (size_t i = 0; i < count; i++)
        lengths[i] = fabs(lengths[i] - judge->median_ns);
    judge->steps = (double)count;
    judge->noise_ns = count ? 1.4826 * gw_upper_median(lengths, count) / sqrt((double)count) : 0;
    judge->threshold_ns = fmax(0.005 * judge->mean_ns, 2 * judge->noise_ns);
    free(lengths);
    return 0;
}

static void measure_classes(struct gw_judge *judge)
{
    const struct gw_budget *budget = judge->budget;
    double cells = 0;
    for (size_t i = 0; i < budget->cells_count; i++) {
        if (judge->model->steps[budget->cells[i].step].warmup || budget->cells[i].unused)
            continue;
        cells++;
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            judge->class_ns[c] += (double)budget->cells[i].ns[c];
    }
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        judge->class_ns[c] /= fmax(cells, 1);
        if (c >= GW_CLASS_IDLE_DEPENDENCY)
            judge->idle_ns += judge->class_ns[c];
    }
    judge->unknown_ns = judge->class_ns[GW_CLASS_IDLE_UNKNOWN];
}

static int index_gaps(struct gw_judge *judge)
{
    size_t at = 0;
    judge->device_gaps = calloc(judge->model->devices_count + 1, sizeof *judge->device_gaps);
    judge->idle_on_ns = calloc(judge->budget->gaps_count + 1, sizeof *judge->idle_on_ns);
    judge->first_device = malloc((judge->model->processes_count + 1) * sizeof *judge->first_device);
    judge->next_device = malloc((judge->model->devices_count + 1) * sizeof *judge->next_device);
    if (!judge->device_gaps || !judge->idle_on_ns || !judge->first_device || !judge->next_device)
        return -ENOMEM;
    memset(judge->first_device, 0xff, judge->model->processes_count * sizeof *judge->first_device);
    for (size_t d = judge->model->devices_count; d-- > 0;) {
        uint32_t *first = &judge->first_device[judge->model->devices[d].process];
        judge->next_device[d] = *first;
        *first = (uint32_t)d;
    }
    for (size_t i = judge->budget->gaps_count; i-- > 0;) {
        const struct gw_gap *gap = &judge->budget->gaps[i];
        bool goes_on =
            i + 1 < judge->budget->gaps_count && gap[1].device == gap->device && gap[1].begin_ns == gap->end_ns;
        judge->idle_on_ns[i] = gap->end_ns - gap->begin_ns + (goes_on ? judge->idle_on_ns[i + 1] : 0);
    }
    for (size_t d = 0; d <= judge->model->devices_count; d++) {
        while (at < judge->budget->gaps_count && judge->budget->gaps[at].device < d)
            at++;
        judge->device_gaps[d] = at;
    }
    return 0;
}

/* Whether the loss reaches into an analysed step. */
static bool reaches_steps(const struct gw_model *model, const struct gw_loss *loss)
{
    for (uint32_t p = 0; p < model->processes_count; p++) {
        for (size_t s = gw_step_after(model, p, loss->begin_ns);
             s < model->steps_count && model->steps[s].process == p && model->steps[s].begin_ns <= loss->end_ns; s++) {
            if (!model->steps[s].warmup)
                return true;
        }
    }
    return false;
}

static void find_losses(struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    bool overrun = false;
    for (size_t i = 0; i < model->losses_count && !overrun; i++) {
        const struct gw_loss *loss = &model->losses[i];
        if (!reaches_steps(model, loss))
            continue;
        judge->lost = true;
        /* A buffer that overran counted what it could not keep. */
        overrun = loss->count > 0 || loss->reason != GW_LOSS_DISCARDED;
    }
    judge->loss_advice = overrun ? "events were lost within the analysed steps: record again with larger buffers "
                                   "(record --buffer-size)"
                                 : "the trace is damaged within the analysed steps: copy it again, or record again";
}

static void find_blocking_launches(struct gw_judge *judge)
{
    double launches = 0, waited = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_op *op = gw_fact_op(judge, fact);
        if (op && judge->model->timing != GW_TIMING_OFF)
            judge->gpu_timed = true;
        if (fact->step == GW_NONE || fact->cls != GW_CALL_LAUNCH || !op)
            continue;
        launches++;
        waited += judge->model->calls[fact->call].end_ns >= op->end_ns && op->end_ns - op->start_ns > 3000;
    }
    judge->launch_wait_share = launches ? waited / launches : 0;
}

static int make_replay(struct gw_judge *judge)
{
    struct gw_replay *replay = NULL;
    double *steps = NULL;
    uint64_t *lengths = NULL;
    judge->replay_error_percent = -1;
    if (!judge->gpu_timed)
        return 0;
    int ret = gw_replay_create(&judge->host, &judge->call_ops, &judge->lane_steps,
                               judge->launch_wait_share >= BLOCKING_SHARE, &replay);
    if (ret < 0)
        return ret == -ENODATA ? 0 : ret;
    ret = -ENOMEM;
    lengths = calloc(replay->steps + 1, sizeof *lengths);
    steps = calloc(replay->steps + 1, sizeof *steps);
    if (!lengths || !steps || gw_replay_run(replay, NULL, &judge->replay_mean_ns, lengths) < 0)
        goto end;
    for (uint32_t i = 0; i < replay->steps; i++)
        steps[i] = (double)lengths[i];
    double replayed = gw_upper_median(steps, replay->steps);
    if (gw_replay_measured_steps(replay, lengths) < 0)
        goto end;
    for (uint32_t i = 0; i < replay->steps; i++)
        steps[i] = (double)lengths[i];
    double measured = gw_upper_median(steps, replay->steps);
    judge->replay_error_percent = measured > 0 ? 100 * fabs(replayed - measured) / measured : 100;
    ret = 0;
    if (judge->replay_error_percent > REPLAY_EXACT_PERCENT)
        judge->replay_doubt_ns = fabs(replayed - measured);
    if (judge->replay_error_percent <= REPLAY_USABLE_PERCENT) {
        gw_replay_take_out_noise(replay);
        ret = gw_replay_run(replay, NULL, &judge->replay_mean_ns, NULL);
        judge->replay = replay;
        replay = NULL;
    }
end:
    gw_replay_destroy(replay);
    free(lengths);
    free(steps);
    return ret;
}

/* The parts of what judges share, made side by side; the first takes longest. */
enum part { PART_REPLAY = 0, PART_BUDGET, PART_COPIES, PART_COUNT };

static int prepare(void *user, size_t part)
{
    struct gw_judge *judge = user;
    int ret;
    if (part == PART_COPIES)
        return gw_copies_init(&judge->copies, judge->model);
    if (part == PART_REPLAY) {
        if ((ret = gw_host_init(&judge->host, judge->model)) < 0 ||
            (ret = gw_call_ops_init(&judge->call_ops, judge->model)) < 0 || (ret = make_facts(judge)) < 0)
            return ret;
        find_blocking_launches(judge);
        return make_replay(judge);
    }
    if (!judge->budget) {
        if ((ret = gw_budget_create_of_steps(judge->model, &judge->own_budget)) < 0)
            return ret;
        judge->budget = judge->own_budget;
    }
    if ((ret = measure_steps(judge)) < 0 || (ret = index_gaps(judge)) < 0)
        return ret;
    measure_classes(judge);
    find_losses(judge);
    return gw_comm_create(judge, &judge->comm);
}

int gw_judge_init(struct gw_judge *ret_judge, const struct gw_model *model, const struct gw_budget *budget)
{
    struct gw_judge *judge = ret_judge;
    *judge = (struct gw_judge){.model = model, .budget = budget};
    int ret = -ENOMEM;
    pthread_mutex_init(&judge->lock, NULL);
    judge->explained_ns = calloc(model->steps_count + 1, sizeof *judge->explained_ns);
    if (judge->explained_ns && (ret = gw_lane_steps_init(&judge->lane_steps, model)) == 0)
        ret = gw_parallel_for(PART_COUNT, prepare, judge);
    if (ret == 0)
        ret = gw_slow_steps_init(&judge->slow, model, judge->device_steps, judge->replay);
    if (ret < 0)
        gw_judge_release(judge);
    return ret;
}

void gw_judge_release(struct gw_judge *judge)
{
    gw_budget_destroy(judge->own_budget);
    gw_replay_destroy(judge->replay);
    gw_comm_destroy(judge->comm);
    gw_copies_release(&judge->copies);
    gw_call_ops_release(&judge->call_ops);
    gw_lane_steps_release(&judge->lane_steps);
    gw_host_release(&judge->host);
    free(judge->facts);
    free(judge->device_gaps);
    free(judge->first_device);
    free(judge->next_device);
    free(judge->idle_on_ns);
    free(judge->explained_ns);
    free(judge->device_steps);
    gw_slow_steps_release(&judge->slow);
    gw_repairs_release(&judge->repairs);
    pthread_mutex_destroy(&judge->lock);
    *judge = (struct gw_judge){0};
}
