/*
 * Two parts. The tool's own code in the calls: how many calls the busiest thread made, times the mean cost of one that
 * the tracer measured in this run. Where the GPU is the slower of the two, that time is hidden behind it; which share
 * is cannot be told from here, so it is taken to be half of it, give or take the other half. And the GPU's timing as a
 * whole, its work on the device and inside the driver included: steps with it against steps without, if there are
 * windows. Its uncertainty is twice the standard error of the two medians.
 */
#include "analyzer/model/perturbation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"

#define STEPS_LEAST 5u /* of each sort */

/* First of the thread's calls that began at time_ns or later. */
static uint32_t first_call(const struct gw_model *model, const struct gw_thread *thread, uint64_t time_ns)
{
    const uint32_t low =
        GW_FIRST_NOT(0, thread->call_count, middle,
                     model->calls[model->thread_calls[thread->call_first + middle]].begin_ns < time_ns);
    return low;
}

/* The thread's recorded calls that began in [begin_ns, end_ns). */
static uint32_t count_calls(const struct gw_model *model, const struct gw_thread *thread, uint64_t begin_ns,
                            uint64_t end_ns)
{
    const uint32_t from = first_call(model, thread, begin_ns), to = first_call(model, thread, end_ns);
    uint32_t count = to > from ? to - from : 0;
    for (uint32_t i = from; i < to; i++) {
        count += model->calls[model->thread_calls[thread->call_first + i]].holds_part;
    }
    return count;
}

/* How many calls that were only counted the thread made in [begin, end), as if they were evenly spread. */
static double counted_calls(const struct gw_model *model, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    double calls = 0;
    for (size_t i = 0; i < model->counted_count; i++) {
        const struct gw_counted *counted = &model->counted[i];
        uint64_t from_ns = counted->begin_ns > begin_ns ? counted->begin_ns : begin_ns;
        uint64_t to_ns = counted->end_ns < end_ns ? counted->end_ns : end_ns;
        if (counted->thread == thread && from_ns < to_ns) {
            calls += counted->count * (double)(to_ns - from_ns) / (double)(counted->end_ns - counted->begin_ns);
        }
    }
    return calls;
}

/* How much longer the process took for the tool's own code, in percent, if none of it was hidden. */
static double calls_percent(const struct gw_model *model, uint32_t process)
{
    uint64_t begin_ns = model->processes[process].first_ns, end_ns = model->processes[process].last_ns;
    double most = 0;
    bool found = false;
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        if (step->process == process && !step->warmup) {
            begin_ns = found ? begin_ns : step->begin_ns;
            end_ns = step->end_ns;
            found = true;
        }
    }
    for (size_t t = 0; t < model->threads_count; t++) {
        const struct gw_thread *thread = &model->threads[t];
        if (thread->process == process) {
            double count =
                count_calls(model, thread, begin_ns, end_ns) + counted_calls(model, (uint32_t)t, begin_ns, end_ns);
            most = count > most ? count : most;
        }
    }
    double own_ns = most * model->processes[process].own_ns_per_call, whole_ns = (double)(end_ns - begin_ns);
    return own_ns < whole_ns ? 100 * own_ns / (whole_ns - own_ns) : 0;
}

enum timed { MIXED, TIMED, UNTIMED };

static enum timed how_timed(const struct gw_model *model, const struct gw_step *step)
{
    uint32_t timed = 0, untimed = 0;
    for (uint32_t i = 0; i < step->op_count; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[step->first_op + i]];
        if (op->kind != GW_OP_HOST) {
            timed += !(op->flags & GW_OP_UNTIMED);
            untimed += op->flags & GW_OP_UNTIMED;
        }
    }
    return untimed == 0 ? TIMED : timed == 0 ? UNTIMED : MIXED;
}

struct lengths {
    double *ns;
    size_t count;
    double median_ns, error_ns; /* standard error of the median */
};

/* The standard error of a normal sample's median, its deviation estimated by the median one. */
static void find_median(struct lengths *lengths)
{
    const double deviations_of_median = 1.4826, error_of_median = 1.2533;
    lengths->median_ns = gw_median(lengths->ns, lengths->count);
    for (size_t i = 0; i < lengths->count; i++) {
        lengths->ns[i] = fabs(lengths->ns[i] - lengths->median_ns);
    }
    lengths->error_ns =
        error_of_median * deviations_of_median * gw_median(lengths->ns, lengths->count) / sqrt((double)lengths->count);
}

struct windows {
    double percent_sum, variance_sum; /* over processes */
    uint32_t processes;
};

static void compare_steps(const struct gw_model *model, const enum timed *timed, uint32_t process, double *room,
                          struct windows *windows)
{
    struct lengths with = {.ns = room}, without = {.ns = room + model->steps_count};
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        if (step->process == process && !step->warmup && timed[s] != MIXED) {
            struct lengths *lengths = timed[s] == TIMED ? &with : &without;
            lengths->ns[lengths->count++] = (double)(step->end_ns - step->begin_ns);
        }
    }
    if (with.count < STEPS_LEAST || without.count < STEPS_LEAST) {
        return;
    }
    find_median(&with);
    find_median(&without);
    double relative = hypot(with.error_ns, without.error_ns) / without.median_ns;
    windows->percent_sum += 100 * (with.median_ns / without.median_ns - 1);
    windows->variance_sum += 1e4 * relative * relative;
    windows->processes++;
}

static int measure_windows(struct gw_model *model, struct windows *windows)
{
    enum timed *timed = malloc((model->steps_count + 1) * sizeof(*timed));
    double *room = malloc(2 * (model->steps_count + 1) * sizeof(*room));
    size_t kept = 0;
    uint32_t number = 0;
    int status = timed && room ? 0 : -ENOMEM;
    if (status) {
        goto end;
    }
    for (size_t s = 0; s < model->steps_count; s++) {
        timed[s] = how_timed(model, &model->steps[s]);
        model->perturbation.timed_steps += timed[s] == TIMED;
        model->perturbation.untimed_steps += timed[s] == UNTIMED;
        model->perturbation.mixed_steps += timed[s] == MIXED;
    }
    for (uint32_t p = 0; p < model->processes_count; p++) {
        compare_steps(model, timed, p, room, windows);
    }
    for (size_t s = 0; s < model->steps_count; s++) {
        if (timed[s] == TIMED) {
            struct gw_step step = model->steps[s];
            number = kept && model->steps[kept - 1].process == step.process ? number + 1 : 0;
            step.number = number;
            model->steps[kept++] = step;
        }
    }
    model->steps_count = kept;
end:
    free(timed);
    free(room);
    return status;
}

bool gw_perturbation_is_least(const struct gw_model *model)
{
    return model->perturbation.method == GW_PERTURBATION_CALLS && model->timing != GW_TIMING_OFF;
}

int gw_measure_perturbation(struct gw_model *model)
{
    struct gw_perturbation *result = &model->perturbation;
    struct windows windows = {0};
    double most_percent = 0;
    for (uint32_t p = 0; p < model->processes_count; p++) {
        if (model->processes[p].own_ns_per_call > 0) {
            double percent = calls_percent(model, p);
            result->method = GW_PERTURBATION_CALLS;
            if (percent >= most_percent) {
                most_percent = percent;
                result->call_ns = model->processes[p].own_ns_per_call;
            }
        }
    }
    if (model->run.timing_period_ns) {
        int status = measure_windows(model, &windows);
        if (status) {
            return status;
        }
    }
    result->percent = result->plus_minus_percent = most_percent / 2;
    if (windows.processes && result->method == GW_PERTURBATION_CALLS) {
        result->method = GW_PERTURBATION_WINDOWS;
        result->percent += windows.percent_sum / windows.processes;
        result->plus_minus_percent += 2 * sqrt(windows.variance_sum) / windows.processes;
    }
    return 0;
}
