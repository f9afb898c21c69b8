#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyzer/export/report_comm.h"
#include "analyzer/export/report_compiles.h"
#include "analyzer/export/report_copies.h"
#include "analyzer/export/report_sheet.h"
#include "shim/api/functions.h"

#define CAUSES_SHOWN 6
#define SHOWN_MS 0.0005 /* less is printed as nothing */
#define TOLD_PERCENT 1  /* of a step: worth a word */
#define SMALL_PART 0.5  /* of the largest loss of time: what a verdict saves of it leaves the larger part open */
#define BUSY_PERCENT 95 /* of a step: the kernels are what it takes */

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

static double percent(const struct gw_report_sheet *sheet, double ms)
{
    return sheet->total_ms > 0 ? 100 * ms / sheet->total_ms : 0;
}

/* ---- the answer ---- */

static void print_title(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    fputs("gpuwitness report of ", sheet->page.out);
    gw_page_style(&sheet->page, "1");
    if (!model->run.command || !*model->run.command)
        gw_put_text(sheet->page.out, model->run.path, strlen(model->run.path));
    for (char **word = model->run.command; word && *word; word++) {
        fputs(word == model->run.command ? "" : " ", sheet->page.out);
        gw_put_text(sheet->page.out, *word, strlen(*word));
    }
    gw_page_style(&sheet->page, NULL);
    fprintf(sheet->page.out, "%s\n\n", gw_sheet_is_simulated(sheet) ? ", on the SIMULATED GPU" : "");
}

/* Of a program that enqueued nothing because its calls failed, a longer run would tell no more. */
static bool print_failure(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
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
    gw_page_item(&sheet->page, NULL, 2,
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

static void print_no_answer(const struct gw_report_sheet *sheet)
{
    const struct gw_model *model = sheet->report->model;
    if (!model->calls_count) {
        gw_page_wrap(&sheet->page, why_no_calls(model), 0, 0);
        return;
    }
    if (print_failure(sheet))
        return;
    gw_page_item(
        &sheet->page, NULL, 2,
        "%zu CUDA calls were seen, but no repeating steps among them: there is no step to explain, and no suspect to "
        "judge by. A longer run, or --step REGEX with a kernel that begins each step, helps.",
        gw_calls_recorded(model));
}

/* The class that takes most of a step beside computing. */
static enum gw_class largest_rest(const struct gw_report_sheet *sheet)
{
    int most = GW_CLASS_COMPUTE + 1;
    for (int c = most; c < GW_CLASS_COUNT; c++)
        most = sheet->ms[c] > sheet->ms[most] ? c : most;
    return (enum gw_class)most;
}

static void print_rest(const struct gw_report_sheet *sheet, enum gw_class cls, const char *before)
{
    char line[300];
    snprintf(line, sizeof line, "%sMost of what is not computing is %s (%s): %s of a step (%.0f %%).", before,
             gw_class_words(cls), gw_class_name(cls), gw_duration_words(sheet->ms[cls]).text,
             percent(sheet, sheet->ms[cls]));
    gw_page_wrap(&sheet->page, line, 0, 0);
}

/* Why the times of the GPU's operations are missing, and what to do. */
struct untimed {
    const char *why, *advice;
};

/* What was lost comes first: with it the times may be there, and without it asking for them is no use. */
static struct untimed why_untimed(const struct gw_model *model)
{
    bool damaged = false;
    for (size_t i = 0; i < model->losses_count; i++) {
        if (model->losses[i].reason == GW_LOSS_DISCARDED && model->losses[i].count)
            return (struct untimed){"events were lost while buffers were full", "record with a larger --buffer-size"};
        damaged |= model->losses[i].reason == GW_LOSS_DISCARDED;
    }
    if (damaged)
        return (struct untimed){"a part of the trace is damaged", "copy it again, or record again"};
    return (struct untimed){"its operations carry no times", "record --gpu-timing=auto"};
}

/* Of a run in which nothing is confirmed: what its time goes into all the same. */
static void print_nothing_confirmed(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    size_t unknown = 0;
    for (size_t i = 0; i < verdicts->list_count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is a list where there is a count. */
        unknown += verdicts->list[i].state == GW_UNKNOWN && strcmp(verdicts->list[i].id, "scaling") != 0;
    if (percent(sheet, sheet->ms[GW_CLASS_COMPUTE]) >= BUSY_PERCENT)
        gw_page_wrap(&sheet->page,
                     "No suspect is confirmed: the GPU computes nearly all the time, so only faster or fewer kernels "
                     "make a step shorter.",
                     0, 0);
    else if (sheet->ms[GW_CLASS_IDLE_UNKNOWN] >= 0.5 * sheet->total_ms) {
        char line[300];
        snprintf(line, sizeof line,
                 "No suspect is confirmed, and few can be: it takes the times of the GPU's operations to see what they "
                 "wait for (%s).",
                 why_untimed(sheet->report->model).advice);
        gw_page_wrap(&sheet->page, line, 0, 0);
    } else
        print_rest(sheet, largest_rest(sheet), "No suspect is confirmed. ");
    if (unknown)
        gw_page_wrap(&sheet->page, "Not all could be judged: see \"Not known\".", 0, 0);
}

static void print_length(const struct gw_report_sheet *sheet)
{
    double busy = sheet->ms[GW_CLASS_COMPUTE], idle = 0, moving = 0;
    struct gw_uneven uneven = gw_uneven_words(sheet->steps.median_ms, sheet->steps.mean_ms);
    char line[400], moves[120] = "";
    for (int c = GW_CLASS_COMPUTE + 1; c < GW_CLASS_COUNT; c++)
        *(c < GW_CLASS_IDLE_DEPENDENCY ? &moving : &idle) += sheet->ms[c];
    if (percent(sheet, moving) >= TOLD_PERCENT)
        snprintf(moves, sizeof moves, ", only copies or communicates for %s (%.0f %%)", gw_duration_words(moving).text,
                 percent(sheet, moving));
    if (sheet->report->budget->cells_count && sheet->ms[GW_CLASS_IDLE_UNKNOWN] < 0.5 * sheet->total_ms)
        snprintf(
            line, sizeof line,
            "A step takes %s on average%s; the GPU computes for %s of it (%.0f %%)%s and is idle for %s (%.0f %%).",
            gw_duration_words(sheet->total_ms).text, uneven.text, gw_duration_words(busy).text, percent(sheet, busy),
            moves, gw_duration_words(idle).text, percent(sheet, idle));
    else
        snprintf(line, sizeof line, "A step takes %s on average%s; what the GPU did in it is not known, because %s.",
                 gw_duration_words(sheet->steps.mean_ms).text, uneven.text, why_untimed(sheet->report->model).why);
    gw_page_wrap(&sheet->page, line, 0, 0);
}

static void print_answer(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    const struct gw_verdict *first = verdicts->list_count ? &verdicts->list[0] : NULL;
    char line[400];
    print_length(sheet);
    if (!first || first->state != GW_CONFIRMED) {
        print_nothing_confirmed(sheet);
        return;
    }
    snprintf(line, sizeof line, "The largest loss: %s (%s). Without it a step is %s shorter (%.0f %%).", first->suspect,
             first->id, gw_duration_words(first->saving_ms).text, first->saving_percent);
    gw_page_style(&sheet->page, "1");
    gw_page_wrap(&sheet->page, line, 0, 0);
    gw_page_style(&sheet->page, NULL);
    fputs("Fix: ", sheet->page.out);
    gw_page_wrap(&sheet->page, first->fix, 5, 5);
    if (first->saving_ms < SMALL_PART * sheet->ms[largest_rest(sheet)])
        print_rest(sheet, largest_rest(sheet), "");
}

/* ---- the budget ---- */

static void print_bar(const struct gw_report_sheet *sheet)
{
    unsigned width = sheet->page.width - 2, drawn = 0;
    double reached = 0;
    fputs("  ", sheet->page.out);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        reached += sheet->ms[c];
        unsigned until = (unsigned)lround(reached / sheet->total_ms * width);
        if (until > drawn)
            gw_page_style(&sheet->page, looks[c].color);
        for (; drawn < until; drawn++)
            fputc(sheet->page.color ? ' ' : looks[c].letter, sheet->page.out);
        gw_page_style(&sheet->page, NULL);
    }
    fputs("\n\n", sheet->page.out);
}

/* Bar and table of the sheet's budget. */
static void print_classes(const struct gw_report_sheet *sheet, const char *heading, const char *whole)
{
    gw_page_heading(&sheet->page, heading);
    print_bar(sheet);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (sheet->ms[c] < SHOWN_MS && !sheet->options->verbose)
            continue;
        fputs("  ", sheet->page.out);
        gw_page_style(&sheet->page, looks[c].color);
        fputc(sheet->page.color ? ' ' : looks[c].letter, sheet->page.out);
        gw_page_style(&sheet->page, NULL);
        fprintf(sheet->page.out, " %-34s %-16s %12.3f ms %6.1f %%\n", gw_class_words((enum gw_class)c),
                gw_class_name((enum gw_class)c), sheet->ms[c], percent(sheet, sheet->ms[c]));
    }
    fprintf(sheet->page.out, "    %-34s %-16s %12.3f ms\n", whole, "total", sheet->total_ms);
}

static void print_budget(const struct gw_report_sheet *sheet)
{
    const struct gw_budget *budget = sheet->report->budget;
    if (!budget->cells_count || sheet->total_ms <= 0)
        return;
    print_classes(sheet, "Where the time of a step goes (mean over the analysed steps)", "the step");
    for (size_t i = 0; i < budget->cells_count; i++) {
        if (budget->cells[i].opaque && !sheet->report->model->steps[budget->cells[i].step].warmup) {
            fputs("    Some of computing is graph replays seen as one block each.\n", sheet->page.out);
            break;
        }
    }
}

/* Without steps there is still the run: where its time goes, though not why. */
static int print_run_budget(const struct gw_report_sheet *sheet)
{
    struct gw_report_sheet run = *sheet;
    int ret = gw_budget_of_run(sheet->report, run.ms, &run.total_ms);
    if (ret < 0 || run.total_ms <= 0)
        return ret;
    print_classes(&run,
                  run.report->model->devices_count > 1
                      ? "Where the time goes between the first and the last GPU operation (mean of the GPUs used)"
                      : "Where the time goes between the first and the last GPU operation",
                  "in all");
    return 0;
}

static int print_causes(const struct gw_report_sheet *sheet)
{
    struct gw_idle_cause causes[CAUSES_SHOWN];
    int count = gw_idle_causes(sheet->report, causes, CAUSES_SHOWN);
    if (count <= 0)
        return count;
    gw_page_heading(&sheet->page, "Largest causes of idle time");
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
        int column =
            fprintf(sheet->page.out, "  %10s a step, %6.*f times  ", gw_duration_words(cause->ms_per_step).text,
                    cause->per_step < 0.095 ? 3 : 1, cause->per_step);
        gw_page_wrap(&sheet->page, words, column > 0 ? (unsigned)column : 0, 36);
    }
    return 0;
}

int gw_report_text(const struct gw_report *report, const struct gw_report_text_options *options, FILE *out)
{
    struct gw_report_sheet sheet = {.report = report, .options = options};
    sheet.page = (struct gw_page){out, options->width < 60 ? 60 : options->width, options->color};
    int ret = gw_step_facts_init(&sheet.steps, report);
    if (ret < 0)
        return ret;
    sheet.total_ms = gw_budget_of_mean_step(report, sheet.ms);
    errno = 0;
    if (options->only_verdict) {
        gw_sheet_one_verdict(&sheet);
    } else {
        print_title(&sheet);
        if (sheet.steps.analysed) {
            print_answer(&sheet);
            print_budget(&sheet);
            if ((ret = print_causes(&sheet)) < 0)
                return ret;
        } else {
            print_no_answer(&sheet);
            if ((ret = print_run_budget(&sheet)) < 0)
                return ret;
        }
        if (report->model->calls_count)
            gw_sheet_verdicts(&sheet);
        gw_report_copies_text(report, &sheet.page);
        if ((ret = gw_report_compiles_text(report, options->verbose, &sheet.page)) < 0 ||
            (ret = gw_report_comm_text(report->model, &sheet.page)) < 0)
            return ret;
        gw_sheet_run(&sheet);
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
