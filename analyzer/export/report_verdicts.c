#include "analyzer/export/report_sheet.h"

#define EVIDENCE_SHOWN 3u

static void print_where(const struct gw_report_sheet *sheet, const struct gw_verdict *verdict)
{
    const struct gw_model *model = sheet->report->model;
    char thread[64] = "", device[32] = "", stream[32] = "";
    if (verdict->thread != GW_NONE)
        snprintf(thread, sizeof thread, "; thread %u of process %u", model->threads[verdict->thread].tid,
                 model->processes[model->threads[verdict->thread].process].pid);
    if (verdict->device != GW_NONE)
        snprintf(device, sizeof device, ", device %u", model->devices[verdict->device].number);
    if (verdict->stream != GW_NONE)
        snprintf(stream, sizeof stream, ", stream %u", model->streams[verdict->stream].number);
    gw_page_item(&sheet->page, NULL, 5, "%.1f a step, in %u of %u steps%s%s%s", verdict->per_step,
                 verdict->steps_affected, sheet->steps.analysed, thread, device, stream);
}

/* Which other savings are of the same time. */
static void print_shares(const struct gw_report_sheet *sheet, const struct gw_verdict *verdict)
{
    char line[300];
    int length = snprintf(line, sizeof line, "The same time counts in other savings:");
    for (uint32_t i = 0; i < verdict->shares_count && length < (int)sizeof line; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s %s of it in %s", i ? "," : "",
                           gw_duration_words(verdict->shares[i].ms).text, verdict->shares[i].id);
    if (verdict->shares_count)
        gw_page_item(&sheet->page, NULL, 5, "%s", line);
}

/* What is saved by mending all of it. */
static void print_together(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    char left_out[300] = "";
    size_t length = 0;
    if (verdicts->together_ms < 0)
        return;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (verdict->state == GW_CONFIRMED && !verdict->together && length < sizeof left_out)
            length += (size_t)snprintf(left_out + length, sizeof left_out - length, "%s%s",
                                       length ? ", " : "; not counting ", verdict->id);
    }
    fputc('\n', sheet->page.out);
    gw_page_item(&sheet->page, NULL, 2, "All of these mended at once save %s a step (%.1f %%)%s.",
                 gw_duration_words(verdicts->together_ms).text, verdicts->together_percent, left_out);
}

static void print_confirmed(const struct gw_report_sheet *sheet, const struct gw_verdict *verdict, unsigned number)
{
    FILE *out = sheet->page.out;
    uint32_t shown = sheet->options->verbose ? GW_EVIDENCE_MAX : EVIDENCE_SHOWN;
    fprintf(out, "  %u. ", number);
    gw_page_style(&sheet->page, "1;31");
    fputs(verdict->id, out);
    gw_page_style(&sheet->page, NULL);
    char line[200];
    int column = 5 + snprintf(line, sizeof line, "%s", verdict->id);
    snprintf(line, sizeof line, ": %s; saves %s a step (%.1f %%)", verdict->suspect,
             gw_duration_words(verdict->saving_ms).text, verdict->saving_percent);
    gw_page_wrap(&sheet->page, line, (unsigned)column, 5);
    fputs("     ", out);
    gw_page_wrap(&sheet->page, verdict->why, 5, 5);
    print_shares(sheet, verdict);
    if (verdict->steps_affected)
        print_where(sheet, verdict);
    for (uint32_t i = 0; i < verdict->evidence_count && i < shown; i++) {
        const struct gw_evidence *evidence = &verdict->evidence[i];
        double at_ms = (double)(int64_t)(evidence->t_ns - sheet->report->model->run.begin_ns) / 1e6;
        fprintf(out, "     at %.3f ms, %s: ", at_ms, gw_duration_words((double)evidence->duration_ns / 1e6).text);
        gw_page_wrap(&sheet->page, evidence->what, 30, 10);
    }
    fputs("     Fix: ", out);
    gw_page_wrap(&sheet->page, verdict->fix, 10, 10);
}

static void print_plain(const struct gw_report_sheet *sheet, const struct gw_verdict *verdict)
{
    int written = fprintf(sheet->page.out, "  %s (%s): ", verdict->id, verdict->suspect);
    gw_page_wrap(&sheet->page, verdict->why, written > 0 ? (unsigned)written : 0, 6);
}

/* Unknown ones: what several have in common is told once. */
static void print_unknown(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        char ids[600], line[1600];
        size_t alike = 0, length = 0;
        for (size_t j = 0; j < verdicts->list_count && verdict->state == GW_UNKNOWN && length < sizeof ids; j++) {
            const struct gw_verdict *other = &verdicts->list[j];
            if (other->state != GW_UNKNOWN || strcmp(other->why, verdict->why) != 0)
                continue;
            if (j < i)
                break;
            alike++;
            length += (size_t)snprintf(ids + length, sizeof ids - length, "%s%s", length ? ", " : "", other->id);
        }
        if (alike == 1)
            print_plain(sheet, verdict);
        if (alike < 2)
            continue;
        snprintf(line, sizeof line, "%s: %s", ids, verdict->why);
        fputs("  ", sheet->page.out);
        gw_page_wrap(&sheet->page, line, 2, 6);
    }
}

/* Ruled out, in columns: the bound is what matters. */
static void print_ruled_out(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    unsigned columns = sheet->page.width >= 84 ? 3 : 2, column = 0;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (verdict->state != GW_RULED_OUT)
            continue;
        fprintf(sheet->page.out, "  %-17s %8s", verdict->id,
                verdict->bound_ms > 0 ? gw_duration_words(verdict->bound_ms).text : "0 ms");
        column = (column + 1) % columns;
        if (!column)
            fputc('\n', sheet->page.out);
    }
    if (column)
        fputc('\n', sheet->page.out);
}

static size_t count_state(const struct gw_verdicts *verdicts, enum gw_verdict_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < verdicts->list_count; i++)
        count += verdicts->list[i].state == state;
    return count;
}

void gw_sheet_verdicts(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    unsigned number = 0;
    if (count_state(verdicts, GW_CONFIRMED))
        gw_page_heading(&sheet->page, "Confirmed (each saving alone; they do not add up; times since trace begin)");
    for (size_t i = 0; i < verdicts->list_count; i++) {
        if (verdicts->list[i].state != GW_CONFIRMED)
            continue;
        if (number)
            fputc('\n', sheet->page.out);
        print_confirmed(sheet, &verdicts->list[i], ++number);
    }
    print_together(sheet);
    if (count_state(verdicts, GW_UNKNOWN) && sheet->steps.analysed)
        gw_page_heading(&sheet->page, "Not known");
    if (sheet->steps.analysed)
        print_unknown(sheet);
    if (count_state(verdicts, GW_RULED_OUT)) {
        gw_page_heading(&sheet->page, "Ruled out (they cost at most this per step)");
        if (!sheet->options->verbose)
            print_ruled_out(sheet);
        for (size_t i = 0; i < verdicts->list_count && sheet->options->verbose; i++) {
            if (verdicts->list[i].state == GW_RULED_OUT)
                print_plain(sheet, &verdicts->list[i]);
        }
    }
}

void gw_sheet_one_verdict(const struct gw_report_sheet *sheet)
{
    const struct gw_verdicts *verdicts = sheet->report->verdicts;
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (strcmp(verdict->id, sheet->options->only_verdict) != 0)
            continue;
        if (verdict->state == GW_CONFIRMED) {
            print_confirmed(sheet, verdict, 1);
            return;
        }
        fprintf(sheet->page.out, "%s: %s", verdict->id, gw_state_name(verdict->state));
        if (verdict->state == GW_RULED_OUT)
            fprintf(sheet->page.out, ", at most %s a step", gw_duration_words(verdict->bound_ms).text);
        fputs("\n  ", sheet->page.out);
        gw_page_wrap(&sheet->page, verdict->why, 2, 2);
    }
}
