#include "analyzer/export/report_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "shim/api/functions.h"

static uint64_t length_ns(const struct gw_report *report, size_t step)
{
    return report->budget->times[step].end_ns - report->budget->times[step].begin_ns;
}

static void add_work(struct gw_step_facts *facts, const struct gw_report *report)
{
    const struct gw_model *model = report->model;
    uint32_t known = GW_NONE; /* process that first and behind are of: operations of one come together */
    size_t first = 0, behind = 0;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        uint32_t process = model->devices[model->streams[op->stream].device].process;
        if (process != known) {
            known = process;
            first = gw_step_after(model, process, 0);
            behind = gw_step_after(model, process, UINT64_MAX);
        }
        if (op->kind == GW_OP_HOST || op->end_ns == GW_TIME_UNKNOWN || first == behind)
            continue;
        double ms = (double)(op->end_ns - op->start_ns) / 1e6;
        bool outside = op->end_ns <= report->budget->times[first].begin_ns ||
                       op->start_ns >= report->budget->times[behind - 1].end_ns;
        facts->work_ms += ms;
        facts->outside_ms += outside ? ms : 0;
    }
}

int gw_step_facts_init(struct gw_step_facts *ret_facts, const struct gw_report *report)
{
    const struct gw_model *model = report->model;
    struct gw_step_facts facts = {.count = (uint32_t)model->steps_count};
    uint64_t *lengths = calloc(model->steps_count + 1, sizeof *lengths);
    double sum = 0;
    if (!lengths)
        return -ENOMEM;
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_interval *time = &report->budget->times[s];
        if (s > 0 && model->steps[s - 1].process == model->steps[s].process) {
            facts.between_ms += time->begin_ns > time[-1].end_ns ? (double)(time->begin_ns - time[-1].end_ns) / 1e6 : 0;
            facts.span_ms += (double)(time->end_ns - time[-1].end_ns) / 1e6;
        } else {
            facts.span_ms += (double)(time->end_ns - time->begin_ns) / 1e6;
        }
        facts.warmup += model->steps[s].warmup;
        if (model->steps[s].warmup)
            continue;
        lengths[facts.analysed++] = length_ns(report, s);
        sum += (double)length_ns(report, s);
    }
    add_work(&facts, report);
    if (facts.analysed) {
        size_t median = (facts.analysed - 1) / 2, p95 = (size_t)(facts.analysed - 1) * 95 / 100;
        qsort(lengths, facts.analysed, sizeof *lengths, gw_by_u64);
        facts.median_ms = (double)lengths[median] / 1e6;
        facts.mean_ms = sum / facts.analysed / 1e6;
        facts.p95_ms = (double)lengths[p95] / 1e6;
    }
    free(lengths);
    *ret_facts = facts;
    return 0;
}

/* Adds the cells of a step on one device (GW_NONE: all that the run uses) and returns how many there were. */
static uint32_t add_cells(const struct gw_budget *budget, uint32_t step, uint32_t device,
                          double sums_ms[GW_CLASS_COUNT])
{
    uint32_t count = 0;
    size_t low = GW_FIRST_NOT(0, budget->cells_count, middle, budget->cells[middle].step < step);
    for (; low < budget->cells_count && budget->cells[low].step == step; low++) {
        if (device == GW_NONE ? budget->cells[low].unused : budget->cells[low].device != device)
            continue;
        count++;
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            sums_ms[c] += (double)budget->cells[low].ns[c] / 1e6;
    }
    return count;
}

static double scale(double ms[GW_CLASS_COUNT], uint32_t count)
{
    double total = 0;
    for (int c = 0; c < GW_CLASS_COUNT && count; c++)
        total += ms[c] /= count;
    return total;
}

double gw_budget_of_median_step(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT])
{
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        ret_ms[c] = 0;
    if (report->budget->median_step == GW_NONE)
        return 0;
    return scale(ret_ms, add_cells(report->budget, report->budget->median_step, GW_NONE, ret_ms));
}

double gw_budget_of_mean_step(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT])
{
    uint32_t steps = 0;
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        ret_ms[c] = 0;
    for (uint32_t s = 0; s < report->model->steps_count; s++) {
        double of_step[GW_CLASS_COUNT] = {0};
        if (report->model->steps[s].warmup)
            continue;
        uint32_t devices = add_cells(report->budget, s, GW_NONE, of_step);
        steps += devices > 0;
        for (int c = 0; c < GW_CLASS_COUNT && devices; c++)
            ret_ms[c] += of_step[c] / devices;
    }
    return scale(ret_ms, steps);
}

/* The analysed step of a process nearest to the middle by length: half of the others are shorter. */
static uint32_t median_step_of(const struct gw_report *report, uint32_t process)
{
    const struct gw_model *model = report->model;
    uint32_t best = GW_NONE;
    uint64_t best_distance = UINT64_MAX;
    uint64_t *lengths = calloc(model->steps_count + 1, sizeof *lengths);
    size_t count = 0;
    for (size_t s = 0; lengths && s < model->steps_count; s++) {
        if (model->steps[s].process == process && !model->steps[s].warmup)
            lengths[count++] = length_ns(report, s);
    }
    if (count)
        qsort(lengths, count, sizeof *lengths, gw_by_u64);
    for (uint32_t s = 0; count && s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        uint64_t length = length_ns(report, s), middle = lengths[(count - 1) / 2];
        uint64_t distance = length > middle ? length - middle : middle - length;
        if (step->process == process && !step->warmup && distance < best_distance) {
            best = s;
            best_distance = distance;
        }
    }
    free(lengths);
    return best;
}

double gw_budget_of_device(const struct gw_report *report, uint32_t device, double ret_ms[GW_CLASS_COUNT])
{
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        ret_ms[c] = 0;
    uint32_t step = median_step_of(report, report->model->devices[device].process);
    return step == GW_NONE ? 0 : scale(ret_ms, add_cells(report->budget, step, device, ret_ms));
}

/* One step for each process that has operations with times: from the first one's enqueue to the last one's end. */
static size_t list_runs(const struct gw_model *model, struct gw_step *runs)
{
    size_t count = 0;
    for (uint32_t p = 0; p < model->processes_count; p++)
        runs[p] = (struct gw_step){.begin_ns = UINT64_MAX, .process = p};
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        uint32_t call = op->outer_call != GW_NONE ? op->outer_call : op->call;
        if (op->flags & GW_OP_UNTIMED || op->stream == GW_NONE)
            continue;
        struct gw_step *run = &runs[model->devices[model->streams[op->stream].device].process];
        uint64_t begin = call == GW_NONE ? op->start_ns : model->calls[call].begin_ns;
        run->begin_ns = begin < run->begin_ns ? begin : run->begin_ns;
        run->end_ns = op->end_ns > run->end_ns ? op->end_ns : run->end_ns;
    }
    for (uint32_t p = 0; p < model->processes_count; p++) {
        if (runs[p].end_ns > runs[p].begin_ns)
            runs[count++] = runs[p];
    }
    return count;
}

int gw_budget_of_run(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT], double *ret_total_ms)
{
    struct gw_model whole = *report->model; /* the same arrays, but for the steps */
    struct gw_budget *budget = NULL;
    uint32_t cells = 0;
    struct gw_step *runs = calloc(whole.processes_count + 1, sizeof *runs);
    int ret = -ENOMEM;
    if (!runs)
        return ret;
    whole.steps = runs;
    whole.steps_count = list_runs(report->model, runs);
    if ((ret = gw_budget_create_of_steps(&whole, &budget)) < 0)
        goto end;
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        ret_ms[c] = 0;
    for (uint32_t s = 0; s < whole.steps_count; s++)
        cells += add_cells(budget, s, GW_NONE, ret_ms);
    *ret_total_ms = scale(ret_ms, cells);
end:
    gw_budget_destroy(budget);
    free(runs);
    return ret;
}

const char *gw_timing_name(enum gw_timing_backend timing)
{
    switch (timing) {
    case GW_TIMING_CUPTI:
        return "cupti";
    case GW_TIMING_EVENTS:
        return "events";
    case GW_TIMING_OFF:
        break;
    }
    return "off";
}

uint64_t gw_untimed_operations(const struct gw_model *model, uint64_t *ret_told)
{
    uint64_t untimed = 0, told = 0;
    if (model->timing != GW_TIMING_OFF && !model->run.timing_period_ns) {
        for (size_t i = 0; i < model->ops_count; i++)
            untimed += model->ops[i].flags & GW_OP_UNTIMED && model->ops[i].kind != GW_OP_HOST;
    }
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        if (item->kind == GW_COVERAGE_UNTIMED && item->name)
            told += strtoull(item->name, NULL, 10);
    }
    *ret_told = told;
    return untimed;
}

uint64_t gw_counted_calls(const struct gw_model *model)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < model->counted_count; i++)
        calls += model->counted[i].count;
    return calls;
}

const char *gw_perturbation_method_name(enum gw_perturbation_method method)
{
    switch (method) {
    case GW_PERTURBATION_CALLS:
        return "calls";
    case GW_PERTURBATION_WINDOWS:
        return "calls and windows";
    case GW_PERTURBATION_UNKNOWN:
        break;
    }
    return "not measured";
}

const char *gw_state_name(enum gw_verdict_state state)
{
    switch (state) {
    case GW_CONFIRMED:
        return "confirmed";
    case GW_RULED_OUT:
        return "ruled-out";
    case GW_UNKNOWN:
        break;
    }
    return "unknown";
}

/* ---- idle causes ---- */

struct cause_sum {
    uint64_t ns, count;
};

static int compare_causes(const void *left, const void *right)
{
    const struct gw_idle_cause *a = left, *b = right;
    return a->ms_per_step > b->ms_per_step ? -1 : a->ms_per_step < b->ms_per_step;
}

/* The part of a gap that lies in analysed steps of the process. `at` moves on with gaps in order of begin. */
static uint64_t analysed_part(const struct gw_report *report, const struct gw_gap *gap, size_t *at)
{
    const struct gw_model *model = report->model;
    const struct gw_interval *times = report->budget->times;
    uint32_t process = model->devices[gap->device].process;
    uint64_t sum = 0;
    while (*at < model->steps_count && (model->steps[*at].process < process ||
                                        (model->steps[*at].process == process && times[*at].end_ns <= gap->begin_ns)))
        ++*at;
    for (size_t s = *at;
         s < model->steps_count && model->steps[s].process == process && times[s].begin_ns < gap->end_ns; s++) {
        uint64_t from = gap->begin_ns > times[s].begin_ns ? gap->begin_ns : times[s].begin_ns;
        uint64_t to = gap->end_ns < times[s].end_ns ? gap->end_ns : times[s].end_ns;
        if (!model->steps[s].warmup && from < to)
            sum += to - from;
    }
    return sum;
}

/* Of a device that is only opened, idle time says nothing. */
static bool is_used(const struct gw_model *model, uint32_t device)
{
    for (size_t s = 0; s < model->streams_count; s++) {
        if (model->streams[s].device == device && model->streams[s].op_count)
            return true;
    }
    return false;
}

int gw_idle_causes(const struct gw_report *report, struct gw_idle_cause *ret_causes, size_t limit)
{
    enum { FUNCTIONS = GW_FUNCTION_COUNT + 1 };
    const struct gw_model *model = report->model;
    struct cause_sum *sums = calloc((size_t)GW_CLASS_COUNT * FUNCTIONS, sizeof *sums);
    struct gw_idle_cause *causes = NULL;
    size_t count = 0, at = 0, used_devices = 0;
    bool used = false;
    int ret = -ENOMEM;
    if (!sums)
        goto end;
    for (uint32_t d = 0; d < model->devices_count; d++)
        used_devices += is_used(model, d);
    for (size_t i = 0; i < report->budget->gaps_count; i++) {
        const struct gw_gap *gap = &report->budget->gaps[i];
        if (i == 0 || gap[-1].device != gap->device) {
            at = 0;
            used = is_used(model, gap->device);
        }
        if (!used)
            continue;
        uint64_t ns = analysed_part(report, gap, &at);
        size_t function = gap->call == GW_NONE ? GW_FUNCTION_COUNT : model->calls[gap->call].function;
        if (!ns || function > GW_FUNCTION_COUNT)
            continue;
        struct cause_sum *sum = &sums[gap->cls * FUNCTIONS + function];
        count += sum->ns == 0;
        sum->ns += ns;
        sum->count++;
    }
    causes = calloc(count + 1, sizeof *causes);
    if (!causes)
        goto end;
    double devices = (double)used_devices / (model->processes_count ? (double)model->processes_count : 1);
    double steps = report->budget->analysed_steps * (devices > 1 ? devices : 1);
    count = 0;
    for (size_t i = 0; i < (size_t)GW_CLASS_COUNT * FUNCTIONS; i++) {
        if (!sums[i].ns)
            continue;
        struct gw_idle_cause *cause = &causes[count++];
        cause->ms_per_step = (double)sums[i].ns / 1e6 / steps;
        cause->per_step = (double)sums[i].count / steps;
        cause->cls = (enum gw_class)(i / FUNCTIONS);
        cause->function = i % FUNCTIONS == GW_FUNCTION_COUNT ? GW_FUNCTION_NONE : (uint16_t)(i % FUNCTIONS);
    }
    qsort(causes, count, sizeof *causes, compare_causes);
    for (size_t i = 0; i < count && i < limit; i++)
        ret_causes[i] = causes[i];
    ret = (int)(count < limit ? count : limit);
end:
    free(causes);
    free(sums);
    return ret;
}
