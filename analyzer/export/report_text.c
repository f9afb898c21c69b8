#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/report_comm.h"
#include "analyzer/export/report_facts.h"
#include "analyzer/export/report_seen.h"
#include "analyzer/export/report_words.h"
#include "analyzer/model/causality.h"
#include "shim/api/functions.h"

#define CAUSES_SHOWN 6
#define EVIDENCE_SHOWN 3u

/* How a class looks in the bar: a letter without colours, an ANSI background with them. */
static const struct {
    char letter;
    const char *color;
} looks[GW_CLASS_COUNT] = {
    [GW_CLASS_COMPUTE] = {'#', "42"},         [GW_CLASS_COMM_WAIT] = {'w', "45"},
    [GW_CLASS_COMM_TRANSFER] = {'t', "45"},   [GW_CLASS_COMM_EXPOSED] = {'m', "45"},
    [GW_CLASS_COPY_H2D] = {'>', "44"},        [GW_CLASS_COPY_D2H] = {'<', "44"},
    [GW_CLASS_COPY_D2D] = {'=', "44"},        [GW_CLASS_COPY_P2P] = {'~', "44"},
    [GW_CLASS_IDLE_DEPENDENCY] = {'d', "43"}, [GW_CLASS_IDLE_LATENCY] = {'.', "43"},
    [GW_CLASS_IDLE_LAUNCH] = {'l', "43"},     [GW_CLASS_IDLE_SYNC] = {'s', "41"},
    [GW_CLASS_IDLE_ALLOC] = {'a', "41"},      [GW_CLASS_IDLE_COMPILE] = {'x', "41"},
    [GW_CLASS_IDLE_COPY_CALL] = {'c', "41"},  [GW_CLASS_IDLE_GRAPH] = {'g', "41"},
    [GW_CLASS_IDLE_API] = {'i', "41"},        [GW_CLASS_IDLE_HOST] = {'h', "101"},
    [GW_CLASS_IDLE_BLOCKED] = {'b', "101"},   [GW_CLASS_IDLE_UNKNOWN] = {'?', "100"},
};

struct text {
    const struct gw_report *report;
    const struct gw_report_text_options *options;
    struct gw_page page;
    struct gw_step_facts steps;
    double ms[GW_CLASS_COUNT], total_ms; /* of the median step */
};

static bool is_simulated(const struct gw_model *model)
{
    return model->run.device_kind && strcmp(model->run.device_kind, "simulated") == 0;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static double percent(const struct text *text, double ms)
{
    return text->total_ms > 0 ? 100 * ms / text->total_ms : 0;
}

/* ---- the answer ---- */

static void print_title(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    fputs("gpuwitness report of ", text->page.out);
    gw_page_style(&text->page, "1");
    if (!model->run.command || !*model->run.command)
        gw_put_text(text->page.out, model->run.path, strlen(model->run.path));
    for (char **word = model->run.command; word && *word; word++) {
        fputs(word == model->run.command ? "" : " ", text->page.out);
        gw_put_text(text->page.out, *word, strlen(*word));
    }
    gw_page_style(&text->page, NULL);
    fprintf(text->page.out, "%s\n\n", is_simulated(model) ? ", on the SIMULATED GPU" : "");
}

/* Of a program that enqueued nothing because its calls failed, a longer run would tell no more. */
static bool print_failure(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    const struct gw_call *first = NULL;
    size_t failed = 0;
    for (size_t i = 0; i < model->calls_count && !model->ops_count; i++) {
        const struct gw_call *call = &model->calls[i];
        if (call->depth > 1 || call->flags & GW_CALL_NO_END || !call->result)
            continue;
        first = first ? first : call;
        failed++;
    }
    if (!first)
        return false;
    gw_page_item(&text->page, NULL, 2,
                 "The program enqueued no work on a GPU: %zu of its CUDA calls failed, the first was %s with error %d. "
                 "See its own messages, and `gpuwitness doctor` for what is wrong with this machine.",
                 failed, gw_function_name(first->function), (int)first->result);
    return true;
}

static const char *why_no_calls(const struct gw_model *model)
{
    bool damaged = model->run.problems != NULL, signalled = false;
    for (size_t i = 0; i < model->losses_count; i++)
        damaged |= model->losses[i].reason == GW_LOSS_DISCARDED;
    for (size_t i = 0; i < model->recordings_count; i++)
        signalled |= model->recordings[i].exit_signal != 0;
    return model->run.windowed ? "No CUDA call was recorded: only what lies in the windows asked for (record --delay, "
                                 "--duration, --attach-on-signal, --steps) is, and there was none in them."
           : damaged ? "No CUDA call is in what is left of the trace: a part of it was lost or damaged, so nothing can "
                       "be said of the program. Record again."
           : signalled ? "No CUDA call was seen before a signal ended the program: it had not come so far, or reached "
                         "the GPU by a road that is not covered (see `gpuwitness doctor`)."
                       : "No CUDA call was seen in this run: the program, and whatever it started, did not use a GPU, "
                         "or reached it by a road that is not covered (see `gpuwitness doctor`).";
}

static void print_no_answer(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    if (!model->calls_count) {
        gw_page_wrap(&text->page, why_no_calls(model), 0, 0);
        return;
    }
    if (print_failure(text))
        return;
    gw_page_item(
        &text->page, NULL, 2,
        "%zu CUDA calls were seen, but no repeating steps among them: there is no step to explain. A longer run, "
        "or --step REGEX with a kernel that begins each step, helps.",
        model->calls_count);
}

static void print_answer(const struct text *text)
{
    const struct gw_verdicts *verdicts = text->report->verdicts;
    const struct gw_verdict *first = verdicts->list_count ? &verdicts->list[0] : NULL;
    double busy = text->ms[GW_CLASS_COMPUTE], idle = 0;
    for (int c = GW_CLASS_IDLE_DEPENDENCY; c < GW_CLASS_COUNT; c++)
        idle += text->ms[c];
    char line[400];
    if (text->report->budget->cells_count && text->ms[GW_CLASS_IDLE_UNKNOWN] < 0.5 * text->total_ms)
        snprintf(line, sizeof line,
                 "A step takes %s%s; the GPU computes for %s of it (%.0f %%) and is idle for %s (%.0f %%).",
                 gw_duration_words(text->total_ms).text, gw_mean_words(text->steps.median_ms, text->steps.mean_ms).text,
                 gw_duration_words(busy).text, percent(text, busy), gw_duration_words(idle).text, percent(text, idle));
    else
        snprintf(line, sizeof line,
                 "A step takes %s%s; what the GPU did in it is not known, because its operations carry no times.",
                 gw_duration_words(text->steps.median_ms).text,
                 gw_mean_words(text->steps.median_ms, text->steps.mean_ms).text);
    gw_page_wrap(&text->page, line, 0, 0);
    if (first && first->state == GW_CONFIRMED) {
        snprintf(line, sizeof line,
                 "The largest loss is %s (%s): without it a step is %s shorter on average (%.0f %% of the mean step, "
                 "%s).",
                 first->suspect, first->id, gw_duration_words(first->saving_ms).text, first->saving_percent,
                 gw_duration_words(text->steps.mean_ms).text);
        gw_page_style(&text->page, "1");
        gw_page_wrap(&text->page, line, 0, 0);
        gw_page_style(&text->page, NULL);
        fputs("Fix: ", text->page.out);
        gw_page_wrap(&text->page, first->fix, 5, 5);
        return;
    }
    size_t unknown = 0;
    for (size_t i = 0; i < verdicts->list_count; i++)
        unknown += verdicts->list[i].state == GW_UNKNOWN;
    snprintf(line, sizeof line, "No suspect is confirmed%s",
             unknown ? ": what was ruled out and what could not be judged stands below." : ".");
    gw_page_wrap(&text->page, line, 0, 0);
}

/* ---- the budget ---- */

static void print_bar(const struct text *text)
{
    unsigned width = text->page.width - 2, drawn = 0;
    double reached = 0;
    fputs("  ", text->page.out);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        reached += text->ms[c];
        unsigned until = (unsigned)lround(reached / text->total_ms * width);
        if (until > drawn)
            gw_page_style(&text->page, looks[c].color);
        for (; drawn < until; drawn++)
            fputc(text->page.color ? ' ' : looks[c].letter, text->page.out);
        gw_page_style(&text->page, NULL);
    }
    fputs("\n\n", text->page.out);
}

static void print_budget(const struct text *text)
{
    const struct gw_budget *budget = text->report->budget;
    if (!budget->cells_count || budget->median_step == GW_NONE || text->total_ms <= 0)
        return;
    char heading[120];
    snprintf(heading, sizeof heading, "Where the time of a step goes (median step, number %u)",
             text->report->model->steps[budget->median_step].number);
    gw_page_heading(&text->page, heading);
    print_bar(text);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (text->ms[c] <= 0 && !text->options->verbose)
            continue;
        fputs("  ", text->page.out);
        gw_page_style(&text->page, looks[c].color);
        fputc(text->page.color ? ' ' : looks[c].letter, text->page.out);
        gw_page_style(&text->page, NULL);
        fprintf(text->page.out, " %-34s %-16s %12.3f ms %6.1f %%\n", gw_class_words((enum gw_class)c),
                gw_class_name((enum gw_class)c), text->ms[c], percent(text, text->ms[c]));
    }
    fprintf(text->page.out, "    %-34s %-16s %12.3f ms\n", "the step", "total", text->total_ms);
    for (size_t i = 0; i < budget->cells_count; i++) {
        if (budget->cells[i].step == budget->median_step && budget->cells[i].opaque) {
            fputs("    Some of computing is graph replays seen as one block each.\n", text->page.out);
            break;
        }
    }
}

static int print_causes(const struct text *text)
{
    struct gw_idle_cause causes[CAUSES_SHOWN];
    int count = gw_idle_causes(text->report, causes, CAUSES_SHOWN);
    if (count <= 0)
        return count;
    gw_page_heading(&text->page, "Largest causes of idle time (mean over the analysed steps)");
    for (int i = 0; i < count; i++) {
        const struct gw_idle_cause *cause = &causes[i];
        bool inside = cause->cls >= GW_CLASS_IDLE_SYNC && cause->cls <= GW_CLASS_IDLE_API;
        bool named = cause->function != GW_FUNCTION_NONE;
        char words[200];
        snprintf(words, sizeof words, "%s%s%s", gw_class_words(cause->cls),
                 !named   ? ""
                 : inside ? ": "
                          : ", before ",
                 named ? gw_function_name(cause->function) : "");
        int column = fprintf(text->page.out, "  %10s a step, %6.*f times  ", gw_duration_words(cause->ms_per_step).text,
                             cause->per_step < 0.095 ? 3 : 1, cause->per_step);
        gw_page_wrap(&text->page, words, column > 0 ? (unsigned)column : 0, 36);
    }
    return 0;
}

/* ---- verdicts ---- */

static void print_where(const struct text *text, const struct gw_verdict *verdict)
{
    const struct gw_model *model = text->report->model;
    char thread[64] = "", device[32] = "", stream[32] = "";
    if (verdict->thread != GW_NONE)
        snprintf(thread, sizeof thread, "; thread %u of process %u", model->threads[verdict->thread].tid,
                 model->processes[model->threads[verdict->thread].process].pid);
    if (verdict->device != GW_NONE)
        snprintf(device, sizeof device, ", device %u", model->devices[verdict->device].number);
    if (verdict->stream != GW_NONE)
        snprintf(stream, sizeof stream, ", stream %u", model->streams[verdict->stream].number);
    gw_page_item(&text->page, NULL, 5, "%.1f a step, in %u of %u steps%s%s%s", verdict->per_step,
                 verdict->steps_affected, text->steps.analysed, thread, device, stream);
}

static void print_confirmed(const struct text *text, const struct gw_verdict *verdict, unsigned number)
{
    FILE *out = text->page.out;
    uint32_t shown = text->options->verbose ? GW_EVIDENCE_MAX : EVIDENCE_SHOWN;
    fprintf(out, "  %u. ", number);
    gw_page_style(&text->page, "1;31");
    fputs(verdict->id, out);
    gw_page_style(&text->page, NULL);
    char line[200];
    int column = 5 + snprintf(line, sizeof line, "%s", verdict->id);
    snprintf(line, sizeof line, ": %s; saves %s a step (%.1f %%)", verdict->suspect,
             gw_duration_words(verdict->saving_ms).text, verdict->saving_percent);
    gw_page_wrap(&text->page, line, (unsigned)column, 5);
    fputs("     ", out);
    gw_page_wrap(&text->page, verdict->why, 5, 5);
    if (verdict->steps_affected)
        print_where(text, verdict);
    for (uint32_t i = 0; i < verdict->evidence_count && i < shown; i++) {
        const struct gw_evidence *evidence = &verdict->evidence[i];
        double at_ms = (double)(int64_t)(evidence->t_ns - text->report->model->run.begin_ns) / 1e6;
        fprintf(out, "     at %.3f ms, %s: ", at_ms, gw_duration_words((double)evidence->duration_ns / 1e6).text);
        gw_page_wrap(&text->page, evidence->what, 30, 10);
    }
    fputs("     Fix: ", out);
    gw_page_wrap(&text->page, verdict->fix, 10, 10);
}

static void print_plain(const struct text *text, const struct gw_verdict *verdict)
{
    int written = fprintf(text->page.out, "  %s (%s): ", verdict->id, verdict->suspect);
    gw_page_wrap(&text->page, verdict->why, written > 0 ? (unsigned)written : 0, 6);
}

/* Ruled out, in columns: the bound is what matters. */
static void print_ruled_out(const struct text *text)
{
    const struct gw_verdicts *verdicts = text->report->verdicts;
    unsigned columns = text->page.width >= 84 ? 3 : 2, column = 0;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (verdict->state != GW_RULED_OUT)
            continue;
        fprintf(text->page.out, "  %-17s %8s", verdict->id,
                verdict->bound_ms > 0 ? gw_duration_words(verdict->bound_ms).text : "0 ms");
        column = (column + 1) % columns;
        if (!column)
            fputc('\n', text->page.out);
    }
    if (column)
        fputc('\n', text->page.out);
}

static size_t count_state(const struct gw_verdicts *verdicts, enum gw_verdict_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < verdicts->list_count; i++)
        count += verdicts->list[i].state == state;
    return count;
}

static void print_verdicts(const struct text *text)
{
    const struct gw_verdicts *verdicts = text->report->verdicts;
    unsigned number = 0;
    if (count_state(verdicts, GW_CONFIRMED))
        gw_page_heading(&text->page, "Confirmed (each saving alone; they do not add up; times since trace begin)");
    for (size_t i = 0; i < verdicts->list_count; i++) {
        if (verdicts->list[i].state != GW_CONFIRMED)
            continue;
        if (number)
            fputc('\n', text->page.out);
        print_confirmed(text, &verdicts->list[i], ++number);
    }
    if (count_state(verdicts, GW_UNKNOWN) && text->steps.analysed)
        gw_page_heading(&text->page, "Not known");
    for (size_t i = 0; i < verdicts->list_count && text->steps.analysed; i++) {
        if (verdicts->list[i].state == GW_UNKNOWN)
            print_plain(text, &verdicts->list[i]);
    }
    if (count_state(verdicts, GW_RULED_OUT)) {
        gw_page_heading(&text->page, "Ruled out (they cost at most this per step)");
        if (!text->options->verbose)
            print_ruled_out(text);
        for (size_t i = 0; i < verdicts->list_count && text->options->verbose; i++) {
            if (verdicts->list[i].state == GW_RULED_OUT)
                print_plain(text, &verdicts->list[i]);
        }
    }
}

/* ---- the run ---- */

#define FACT 13 /* column of the facts on the run */

static void print_devices(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    if (is_simulated(model))
        gw_page_item(&text->page, "device", FACT,
                     "SIMULATED GPU: times of GPU work are computed, not measured on hardware");
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        gw_page_item(&text->page, is_simulated(model) ? "" : "device", FACT, "number %u, %s, %.1f GB, process %u",
                     device->number, device->name ? device->name : "unnamed", (double)device->memory_bytes / 1e9,
                     model->processes[device->process].pid);
    }
}

static void print_steps(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    if (!text->steps.count)
        return;
    gw_page_item(
        &text->page, "steps", FACT,
        "%u found, %u of them warm-up and left out; by %s, confidence %.0f %%; median %s, mean %s, 95 %% below "
        "%s",
        text->steps.count, text->steps.warmup, model->steps_method ? model->steps_method : "unknown",
        100 * model->steps_confidence, gw_duration_words(text->steps.median_ms).text,
        gw_duration_words(text->steps.mean_ms).text, gw_duration_words(text->steps.p95_ms).text);
}

/* What was left out on purpose is no fault. Returns how long the run is behind it, UINT64_MAX when nothing was. */
static uint64_t print_left_out(const struct text *text, enum gw_loss_reason reason, const char *what)
{
    const struct gw_model *model = text->report->model;
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
        gw_page_item(&text->page, "left out", FACT, "%s in %zu range%s: %s",
                     gw_duration_words((double)left_out_ns / 1e6).text, ranges, plural(ranges), what);
    return ranges ? model->run.end_ns - counted_ns : UINT64_MAX;
}

static void print_losses(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    uint64_t lost = 0;
    size_t ranges = 0;
    for (size_t i = 0; i < model->losses_count; i++) {
        lost += model->losses[i].count;
        ranges += model->losses[i].reason == GW_LOSS_DISCARDED;
    }
    lost = lost > model->run.discarded_events ? lost : model->run.discarded_events;
    if (!lost && !ranges)
        gw_page_item(&text->page, "lost", FACT, "nothing");
    else if (!lost)
        gw_page_item(&text->page, "lost", FACT, "the events of %zu range%s of time: a part of the trace is damaged",
                     ranges, plural(ranges));
    else
        gw_page_item(&text->page, "lost", FACT, "%llu event%s in %zu range%s; record with a larger --buffer-size",
                     (unsigned long long)lost, plural(lost), ranges, plural(ranges));
    print_left_out(text, GW_LOSS_OUTSIDE,
                   model->run.excerpted ? "the later steps, and what lies outside of windows that were asked for"
                                        : "recorded was only what lies in the windows or steps asked for");
    uint64_t kept_ns = print_left_out(text, GW_LOSS_LET_GO, "older events were let go, as asked for");
    if (kept_ns < model->run.ring_ns)
        gw_page_item(&text->page, "kept", FACT, "%s of the %s asked for; record with a larger --buffer-size",
                     gw_duration_words((double)kept_ns / 1e6).text,
                     gw_duration_words((double)model->run.ring_ns / 1e6).text);
}

static void print_unfinished(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    unsigned shown = 0;
    for (size_t i = 0; i < model->calls_count && shown < 5; i++) {
        const struct gw_call *call = &model->calls[i];
        if (!(call->flags & GW_CALL_NO_END) || call->depth > 1)
            continue;
        gw_page_item(&text->page, "hanging", FACT,
                     "%s on thread %u %s: entered at %.3f ms, %s before the end of the trace",
                     gw_function_name(call->function), model->threads[call->thread].tid,
                     model->run.still_running ? "had not returned" : "never returned",
                     (double)(call->begin_ns - model->run.begin_ns) / 1e6,
                     gw_duration_words((double)(model->run.end_ns - call->begin_ns) / 1e6).text);
        shown++;
    }
    for (char **problem = model->run.problems; problem && *problem; problem++)
        gw_page_item(&text->page, "problem", FACT, "%s", *problem);
    if (!model->run.finished)
        gw_page_item(&text->page, "recording", FACT, "was not finished properly: the end of the run may be missing");
    if (model->run.exit_status)
        gw_page_item(&text->page, "program", FACT, "ended with status %d", model->run.exit_status);
}

static void print_causality(const struct text *text)
{
    struct gw_causality causality;
    gw_model_check_causality(text->report->model, &causality);
    uint64_t wrong = causality.before_launch + causality.overlapping + causality.after_wait;
    if (wrong)
        gw_page_item(&text->page, "clocks", FACT,
                     "%" PRIu64 " times of %" PRIu64 " GPU operations contradict the host's calls (%" PRIu64
                     " begin before their launch, %" PRIu64 " before the one ahead ended, %" PRIu64
                     " ended after a wait for them): they are off by up to %s more than is said",
                     wrong, causality.checked, causality.before_launch, causality.overlapping, causality.after_wait,
                     gw_duration_words((double)causality.clock_off_ns / 1e6).text);
}

/* What the recording itself cost, and which steps were timed at all. */
static void print_perturbation(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    const struct gw_perturbation *cost = &model->perturbation;
    if (model->run.timing_period_ns)
        gw_page_item(
            &text->page, "timed", FACT,
            "%s of each %s: %u step%s throughout, which are judged; %u not at all and %u in part, which are not",
            gw_duration_words((double)model->run.timed_ns / 1e6).text,
            gw_duration_words((double)model->run.timing_period_ns / 1e6).text, cost->timed_steps,
            plural(cost->timed_steps), cost->untimed_steps, cost->mixed_steps);
    if (cost->method == GW_PERTURBATION_UNKNOWN)
        return;
    gw_page_item(&text->page, "cost", FACT, "this recording slowed the run by %.1f ± %.1f %% (%.0f ns a call%s)",
                 cost->percent, cost->plus_minus_percent, cost->call_ns,
                 cost->method == GW_PERTURBATION_WINDOWS ? "; steps with GPU timing against steps without"
                 : model->timing == GW_TIMING_OFF        ? ""
                                                         : "; GPU timing's own work on the device and in the driver is "
                                                           "not in it, record --timing-window shows it");
}

static void print_coverage(const struct text *text)
{
    const struct gw_model *model = text->report->model;
    uint64_t floor_ns = 0;
    size_t not_wrapped = 0;
    for (size_t i = 0; i < model->devices_count; i++)
        floor_ns = model->devices[i].timing_floor_ns > floor_ns ? model->devices[i].timing_floor_ns : floor_ns;
    gw_page_item(&text->page, "seen", FACT, "%zu call%s, %zu GPU operation%s, %zu thread%s, %zu process%s",
                 model->calls_count, plural(model->calls_count), model->ops_count, plural(model->ops_count),
                 model->threads_count, plural(model->threads_count), model->processes_count,
                 model->processes_count == 1 ? "" : "es");
    if (floor_ns)
        gw_page_item(&text->page, "GPU timing", FACT,
                     "%s; 99 %% of the kernels begin and end within %s of what is said", gw_timing_name(model->timing),
                     gw_duration_words((double)floor_ns / 1e6).text);
    else
        gw_page_item(&text->page, "GPU timing", FACT, "%s", gw_timing_name(model->timing));
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        const char *name = item->name ? item->name : "", *detail = item->detail ? item->detail : "";
        not_wrapped += item->kind == GW_COVERAGE_NOT_WRAPPED;
        if (item->kind == GW_COVERAGE_DISABLED || item->kind == GW_COVERAGE_UNTIMED)
            gw_page_item(&text->page, "not seen", FACT, "%s%s%s", name, *name ? ": " : "", detail);
    }
    gw_seen_text(model, &text->page, FACT);
    uint64_t told, untimed = gw_untimed_operations(model, &told);
    if (untimed > told)
        gw_page_item(&text->page, "not seen", FACT,
                     "%llu: their process ended at once (_exit, exec, a signal) before their times were read",
                     (unsigned long long)(untimed - told));
    if (not_wrapped)
        gw_page_item(&text->page, "not seen", FACT, "%zu functions were looked up that gpuwitness has no wrapper for",
                     not_wrapped);
    print_causality(text);
    print_perturbation(text);
    print_losses(text);
    print_unfinished(text);
    double error = text->report->verdicts->replay_error_percent;
    if (error >= 0)
        gw_page_item(&text->page, "replay", FACT, "%s the median step within %.1f %%%s",
                     error <= 2 ? "reproduces" : "does not reproduce", error <= 2 ? error : 2.0,
                     error <= 2 ? "" : ": savings are bounds only");
}

static void print_run(const struct text *text)
{
    gw_page_heading(&text->page, "The run");
    print_devices(text);
    print_steps(text);
    print_coverage(text);
}

static void print_one(const struct text *text)
{
    const struct gw_verdicts *verdicts = text->report->verdicts;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (strcmp(verdict->id, text->options->only_verdict) != 0)
            continue;
        if (verdict->state == GW_CONFIRMED) {
            print_confirmed(text, verdict, 1);
            return;
        }
        fprintf(text->page.out, "%s: %s", verdict->id, gw_state_name(verdict->state));
        if (verdict->state == GW_RULED_OUT)
            fprintf(text->page.out, ", at most %s a step", gw_duration_words(verdict->bound_ms).text);
        fputs("\n  ", text->page.out);
        gw_page_wrap(&text->page, verdict->why, 2, 2);
    }
}

int gw_report_text(const struct gw_report *report, const struct gw_report_text_options *options, FILE *out)
{
    struct text text = {.report = report, .options = options};
    text.page = (struct gw_page){out, options->width < 60 ? 60 : options->width, options->color};
    int ret = gw_step_facts_init(&text.steps, report->model);
    if (ret < 0)
        return ret;
    text.total_ms = gw_budget_of_median_step(report, text.ms);
    errno = 0;
    if (options->only_verdict) {
        print_one(&text);
    } else {
        print_title(&text);
        if (text.steps.analysed) {
            print_answer(&text);
            print_budget(&text);
            if ((ret = print_causes(&text)) < 0)
                return ret;
        } else {
            print_no_answer(&text);
        }
        if (report->model->calls_count)
            print_verdicts(&text);
        if ((ret = gw_report_comm_text(report->model, &text.page)) < 0)
            return ret;
        print_run(&text);
    }
    if (fflush(out) == EOF || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}

int gw_explain_text(const char *id, const char *suspect, const char *explanation, const char *fix, unsigned width,
                    FILE *out)
{
    struct gw_page page = {out, width, false};
    fprintf(out, "%s: %s\n\n", id, suspect);
    gw_page_wrap(&page, explanation, 0, 0);
    fputs("\nWhat mends it: ", out);
    gw_page_wrap(&page, fix, 15, 15);
    return fflush(out) == EOF || ferror(out) ? -EIO : 0;
}
