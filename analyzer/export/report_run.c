#include <inttypes.h>
#include <math.h>

#include "analyzer/export/report_seen.h"
#include "analyzer/export/report_sheet.h"
#include "analyzer/model/perturbation.h"
#include "shim/api/functions.h"

#define FACT 13 /* column of the facts on the run */

static void print_devices(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    if (gw_sheet_is_simulated(sheet))
        gw_page_item(&sheet->page, "device", FACT,
                     "SIMULATED GPU: times of GPU work are computed, not measured on hardware");
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        gw_page_item(&sheet->page, gw_sheet_is_simulated(sheet) ? "" : "device", FACT,
                     "number %u, %s, %.1f GB, process %u", device->number, device->name ? device->name : "unnamed",
                     (double)device->memory_bytes / 1e9, model->processes[device->process].pid);
    }
}

/* Less than that between the steps, or before and behind them, is not worth a line. */
#define BETWEEN_TOLD_PERCENT 2
#define OUTSIDE_TOLD_PERCENT 20

/* The order of operations alone does not always tell a micro-step from a step. */
static void print_other_steps(const struct gw_report_sheet *sheet)
{
    const struct gw_other_steps *other = &sheet->report->model->steps_other;
    char every[32] = "";
    if (!other->count)
        return;
    if (other->every > 1)
        snprintf(every, sizeof every, " --step-every %u", other->every);
    gw_page_item(&sheet->page, "", FACT, "it could as well be %zu, if these are %s; %s%s%s%s", other->count,
                 other->count > sheet->steps.count
                     ? "several each, of which the last does something besides"
                     : "micro-steps of an accumulation, layers, or parts of a longer round",
                 other->step ? "this selects them: --step '" : "--step REGEX can tell", other->step ? other->step : "",
                 other->step ? "'" : "", every);
}

static void print_steps(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    char micro_steps[48] = "";
    if (!sheet->steps.count)
        return;
    if (model->micro_steps)
        snprintf(micro_steps, sizeof micro_steps, ", each of %u micro-steps", model->micro_steps);
    gw_page_item(
        &sheet->page, "steps", FACT,
        "%u found%s, %u of them warm-up and left out; by %s, confidence %.0f %%; median %s, mean %s, 95 %% below "
        "%s",
        sheet->steps.count, micro_steps, sheet->steps.warmup, model->steps_method ? model->steps_method : "unknown",
        100 * model->steps_confidence, gw_duration_words(sheet->steps.median_ms).text,
        gw_duration_words(sheet->steps.mean_ms).text, gw_duration_words(sheet->steps.p95_ms).text);
    print_other_steps(sheet);
    double between = 100 * sheet->steps.between_ms / fmax(sheet->steps.span_ms, 1e-6);
    if (between >= BETWEEN_TOLD_PERCENT)
        gw_page_item(&sheet->page, "", FACT,
                     "%s between them, %.0f %% of the time from the first to the last, are in no step and not judged: "
                     "what is done now and then, such as evaluation, or steps unlike the others",
                     gw_duration_words(sheet->steps.between_ms).text, between);
    double outside = 100 * sheet->steps.outside_ms / fmax(sheet->steps.work_ms, 1e-6);
    if (outside >= OUTSIDE_TOLD_PERCENT)
        gw_page_item(&sheet->page, "", FACT,
                     "%s of GPU work, %.0f %% of all, lie before the first or after the last and are not judged: "
                     "set-up, evaluation or another phase of the run, whose steps --step REGEX may tell",
                     gw_duration_words(sheet->steps.outside_ms).text, outside);
}

/* What was left out on purpose is no fault. Returns how long the run is behind it, UINT64_MAX when nothing was. */
static uint64_t print_left_out(const struct gw_report_sheet *sheet, enum gw_loss_reason reason, const char *what)
{
    const struct gw_model *model = sheet->report->model;
    uint64_t left_out_ns = 0, counted_ns = 0;
    size_t ranges = 0;
    for (size_t i = 0; i < model->losses_count; i++) {
        const struct gw_loss *loss = &model->losses[i];
        if (loss->reason != reason || loss->end_ns <= counted_ns)
            continue;
        ranges += loss->begin_ns >= counted_ns;
        left_out_ns += loss->end_ns - (loss->begin_ns > counted_ns ? loss->begin_ns : counted_ns);
        counted_ns = loss->end_ns;
    }
    if (ranges)
        gw_page_item(&sheet->page, "left out", FACT, "%s in %zu range%s: %s",
                     gw_duration_words((double)left_out_ns / 1e6).text, ranges, gw_plural(ranges), what);
    return ranges ? model->run.end_ns - counted_ns : UINT64_MAX;
}

static void print_losses(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    uint64_t lost = 0;
    size_t ranges = 0, damaged = 0; /* a buffer that overran counted what it could not keep */
    for (size_t i = 0; i < model->losses_count; i++) {
        lost += model->losses[i].count;
        ranges += model->losses[i].reason == GW_LOSS_DISCARDED && model->losses[i].count;
        damaged += model->losses[i].reason == GW_LOSS_DISCARDED && !model->losses[i].count;
    }
    lost = lost > model->run.discarded_events ? lost : model->run.discarded_events;
    if (!lost && !damaged)
        gw_page_item(&sheet->page, "lost", FACT, "nothing");
    if (damaged)
        gw_page_item(
            &sheet->page, "lost", FACT,
            "the events of %zu range%s of time: a part of the trace is damaged; copy it again, or record again",
            damaged, gw_plural(damaged));
    if (lost)
        gw_page_item(&sheet->page, "lost", FACT, "%llu event%s in %zu range%s; record with a larger --buffer-size",
                     (unsigned long long)lost, gw_plural(lost), ranges, gw_plural(ranges));
    print_left_out(sheet, GW_LOSS_OUTSIDE,
                   model->run.excerpted ? "the later steps, and what lies outside of windows that were asked for"
                                        : "recorded was only what lies in the windows or steps asked for");
    uint64_t kept_ns = print_left_out(sheet, GW_LOSS_LET_GO, "older events were let go, as asked for");
    if (kept_ns < model->run.ring_ns)
        gw_page_item(&sheet->page, "kept", FACT, "%s of the %s asked for; record with a larger --buffer-size",
                     gw_duration_words((double)kept_ns / 1e6).text,
                     gw_duration_words((double)model->run.ring_ns / 1e6).text);
}

static void print_unfinished(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    unsigned shown = 0;
    for (size_t i = 0; i < model->calls_count && shown < 5; i++) {
        const struct gw_call *call = &model->calls[i];
        if (!(call->flags & GW_CALL_NO_END) || call->depth > 1)
            continue;
        gw_page_item(&sheet->page, "hanging", FACT,
                     "%s on thread %u %s: entered at %.3f ms, %s before the end of the trace",
                     gw_function_name(call->function), model->threads[call->thread].tid,
                     model->run.still_running ? "had not returned" : "never returned",
                     (double)(call->begin_ns - model->run.begin_ns) / 1e6,
                     gw_duration_words((double)(model->run.end_ns - call->begin_ns) / 1e6).text);
        shown++;
    }
    for (char **problem = model->run.problems; problem && *problem; problem++)
        gw_page_item(&sheet->page, "problem", FACT, "%s", *problem);
    if (!model->run.finished)
        gw_page_item(&sheet->page, "recording", FACT, "was not finished properly: the end of the run may be missing");
    if (model->run.exit_status)
        gw_page_item(&sheet->page, "program", FACT, "ended with status %d", model->run.exit_status);
}

static void print_causality(const struct gw_report_sheet *sheet)
{
    const struct gw_causality causality = sheet->report->model->causality;
    uint64_t wrong = causality.before_launch + causality.overlapping + causality.after_wait;
    if (wrong)
        gw_page_item(&sheet->page, "clocks", FACT,
                     "%" PRIu64 " times of %" PRIu64 " GPU operations contradict the host's calls (%" PRIu64
                     " begin before their launch, %" PRIu64 " before the one ahead ended, %" PRIu64
                     " ended after a wait for them): they are off by up to %s more than is said",
                     wrong, causality.checked, causality.before_launch, causality.overlapping, causality.after_wait,
                     gw_duration_words((double)causality.clock_off_ns / 1e6).text);
}

/* What the recording itself cost, and which steps were timed at all. */
static void print_perturbation(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    const struct gw_perturbation *cost = &model->perturbation;
    if (model->run.timing_period_ns)
        gw_page_item(
            &sheet->page, "timed", FACT,
            "%s of each %s: %u step%s throughout, which are judged; %u not at all and %u in part, which are not",
            gw_duration_words((double)model->run.timed_ns / 1e6).text,
            gw_duration_words((double)model->run.timing_period_ns / 1e6).text, cost->timed_steps,
            gw_plural(cost->timed_steps), cost->untimed_steps, cost->mixed_steps);
    if (cost->method == GW_PERTURBATION_UNKNOWN)
        return;
    gw_page_item(&sheet->page, "cost", FACT, "this recording slowed the run by %.1f ± %.1f %%%s (%.0f ns a call%s)",
                 cost->percent, cost->plus_minus_percent, gw_perturbation_is_least(model) ? " or more" : "",
                 cost->call_ns,
                 cost->method == GW_PERTURBATION_WINDOWS ? "; steps with GPU timing against steps without"
                 : gw_perturbation_is_least(model) ? "; what GPU timing costs within the driver and on the device "
                                                     "is not in it, record --timing-window shows it"
                                                   : "");
}

static void print_coverage(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    uint64_t half_ns, floor_ns = gw_timing_floor(model, &half_ns);
    size_t not_wrapped = 0;
    uint64_t counted = gw_counted_calls(model), calls = gw_calls_recorded(model) + counted;
    gw_page_item(&sheet->page, "seen", FACT, "%llu call%s, %zu GPU operation%s, %zu thread%s, %zu process%s",
                 (unsigned long long)calls, gw_plural(calls), model->ops_count, gw_plural(model->ops_count),
                 model->threads_count, gw_plural(model->threads_count), model->processes_count,
                 model->processes_count == 1 ? "" : "es");
    if (counted)
        gw_page_item(&sheet->page, "", FACT,
                     "%llu of the calls were quick queries (cudaGetDevice and the like), which are counted only",
                     (unsigned long long)counted);
    if (floor_ns)
        gw_page_item(&sheet->page, "GPU timing", FACT,
                     "%s; half of the kernels begin and end within %s of what is said, 99.9 %% within %s",
                     gw_timing_name(model->timing), gw_duration_words((double)half_ns / 1e6).text,
                     gw_duration_words((double)floor_ns / 1e6).text);
    else
        gw_page_item(&sheet->page, "GPU timing", FACT, "%s", gw_timing_name(model->timing));
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        const char *name = item->name ? item->name : "", *detail = item->detail ? item->detail : "";
        not_wrapped += item->kind == GW_COVERAGE_NOT_WRAPPED;
        if (item->kind == GW_COVERAGE_DISABLED || item->kind == GW_COVERAGE_UNTIMED)
            gw_page_item(&sheet->page, "not seen", FACT, "%s%s%s", name, *name ? ": " : "", detail);
    }
    gw_seen_text(model, &sheet->page, FACT);
    uint64_t told, untimed = gw_untimed_operations(model, &told);
    if (untimed > told)
        gw_page_item(&sheet->page, "not seen", FACT,
                     "%llu: their process ended at once (_exit, exec, a signal) before their times were read",
                     (unsigned long long)(untimed - told));
    if (not_wrapped)
        gw_page_item(&sheet->page, "not seen", FACT, "%zu functions were looked up that gpuwitness has no wrapper for",
                     not_wrapped);
    print_causality(sheet);
    print_perturbation(sheet);
    print_losses(sheet);
    print_unfinished(sheet);
    double error = sheet->report->verdicts->replay_error_percent;
    if (error >= 0)
        gw_page_item(&sheet->page, "replay", FACT, "%s the median step within %.1f %%%s",
                     error <= 10 ? "reproduces" : "does not reproduce", error <= 10 ? error : 10.0,
                     error <= 2    ? ""
                     : error <= 10 ? ": savings may be off by as much of a step"
                                   : ": no saving can be told");
}

void gw_sheet_run(const struct gw_report_sheet *sheet)
{
    gw_page_heading(&sheet->page, "The run");
    print_devices(sheet);
    print_steps(sheet);
    print_coverage(sheet);
}
