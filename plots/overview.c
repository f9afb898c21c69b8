/*
 * overview: one picture for a bug report. What ran, what a step costs, the median step, its budget, the verdicts.
 */
#include "plots/budget_data.h"
#include "plots/layouts.h"
#include "plots/timeline_panel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define BAR_HEIGHT 34.0
#define VERDICTS_MAX 6u
#define LINE 23.0

static double heading(struct gw_page *page, double y, const char *text)
{
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;

    gw_scene_line(page->scene, GW_PAGE_MARGIN, y + 6.5, GW_PAGE_MARGIN + w, y + 6.5, 1.0, page->theme->grid);
    gw_page_bold(page, GW_PAGE_MARGIN, y + 14.0, w, 24.0, 15.0, GW_ALIGN_LEFT, text);
    return y + 46.0;
}

static double draw_budget(struct gw_page *page, const struct gw_budget_data *data, double y)
{
    const struct gw_budget_row *row = &data->median;
    double x = GW_PAGE_MARGIN, w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    struct gw_legend_entry entries[GW_CLASS_COUNT];
    char labels[GW_CLASS_COUNT][128], length[GW_UNIT_TEXT];
    size_t count = 0;

    for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++) {
        double part = row->ns[cls] / row->total_ns * w;
        if (row->ns[cls] <= 0.0)
            continue;
        gw_format_duration(row->ns[cls], length);
        gw_page_bar(page, x, y, fmax(0.5, part - (part > 3.0 ? 1.0 : 0.0)), BAR_HEIGHT, gw_colour_of_class(cls),
                    cls == GW_CLASS_IDLE_UNKNOWN, length, GW_SIZE_TEXT, INFINITY);
        x += part;
        snprintf(labels[count], sizeof(labels[count]), "%s  %s (%.1f %%)", gw_class_words(cls), length,
                 row->ns[cls] / row->total_ns * 100.0);
        entries[count] = (struct gw_legend_entry){gw_colour_of_class(cls), labels[count], cls == GW_CLASS_IDLE_UNKNOWN};
        count++;
    }
    return gw_page_legend(page, GW_PAGE_MARGIN, y + BAR_HEIGHT + 8.0, w, "classes", entries, count);
}

/* State, what it saves, what it is and why, one verdict under the other. */
static double draw_verdict(struct gw_page *page, const struct gw_verdict *verdict, double y)
{
    static const char *const states[] = {"confirmed", "cannot tell", "ruled out"};
    uint32_t colours[] = {page->theme->confirmed, page->theme->unknown, page->theme->ruled_out};
    struct gw_text_style state = {GW_SIZE_TEXT, colours[verdict->state], GW_ALIGN_LEFT, true, GW_FOR_TEXT, false};
    double x = GW_PAGE_MARGIN, text_x = x + 110.0, w = page->options->width - GW_PAGE_MARGIN - text_x;
    char text[512], saving[GW_UNIT_TEXT];

    gw_scene_text(page->scene, x, y, 100.0, LINE, &state, states[verdict->state]);
    gw_format_duration(verdict->saving_ms * 1e6, saving);
    if (verdict->state == GW_CONFIRMED)
        snprintf(text, sizeof(text), "%s: %s, saves %s a step (%.1f %%)", verdict->id, verdict->suspect, saving,
                 verdict->saving_percent);
    else
        snprintf(text, sizeof(text), "%s: %s", verdict->id, verdict->suspect);
    gw_page_bold(page, text_x, y, w, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
    y += LINE;
    if (verdict->why)
        y = gw_page_paragraph(page, text_x, y, w, GW_SIZE_TEXT, page->theme->text, verdict->why);
    if (verdict->fix)
        y = gw_page_paragraph(page, text_x, y, w, GW_SIZE_TEXT, page->theme->muted, verdict->fix);
    return y + 8.0;
}

static double draw_verdicts(struct gw_page *page, double y)
{
    const struct gw_verdicts *verdicts = page->source->verdicts;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    uint32_t states[3] = {0}, shown = 0;
    char text[256];

    for (size_t i = 0; i < verdicts->list_count; i++) {
        if (verdicts->list[i].state == GW_CONFIRMED && shown < VERDICTS_MAX) {
            y = draw_verdict(page, &verdicts->list[i], y);
            shown++;
        }
        states[verdicts->list[i].state]++;
    }
    if (states[GW_CONFIRMED] == 0) {
        gw_page_text(page, GW_PAGE_MARGIN, y, w, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, "No suspect is confirmed.");
        y += LINE + 4.0;
    }
    snprintf(text, sizeof(text),
             "%" PRIu32 " suspect%s confirmed, %" PRIu32 " ruled out, %" PRIu32
             " cannot be told from this run; `gpuwitness report` lists each with its reason.",
             states[GW_CONFIRMED], states[GW_CONFIRMED] == 1 ? "" : "s", states[GW_RULED_OUT], states[GW_UNKNOWN]);
    return gw_page_paragraph(page, GW_PAGE_MARGIN, y, w, GW_SIZE_TEXT, page->theme->muted, text);
}

/* How many steps there are, over all processes. */
static void describe_steps(const struct gw_model *model, char *text, size_t size)
{
    size_t warmup = 0, processes = 0;
    char all[GW_UNIT_TEXT];

    for (size_t i = 0; i < model->steps_count; i++) {
        warmup += model->steps[i].warmup;
        processes += i == 0 || model->steps[i].process != model->steps[i - 1].process;
    }
    gw_format_count(model->steps_count - warmup, all);
    if (processes == 0)
        snprintf(text, size, "no repeating step was found");
    else if (processes == 1)
        snprintf(text, size, "%s steps after %zu of warm-up", all, warmup);
    else
        snprintf(text, size, "%s steps of %zu processes together, %zu of warm-up left out", all, processes, warmup);
}

/* The facts a reader of a bug report asks for first. */
static double draw_facts(struct gw_page *page, double y)
{
    const struct gw_model *model = page->source->model;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    char text[768], steps[128], length[GW_UNIT_TEXT], calls[GW_UNIT_TEXT], ops[GW_UNIT_TEXT];
    size_t at = 0;

    for (char **word = model->run.command; word && *word && at + 1 < sizeof(text); word++) {
        int written = snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "$ ", *word);
        at = written < 0 || at + (size_t)written >= sizeof(text) ? sizeof(text) - 1 : at + (size_t)written;
    }
    if (at) {
        gw_page_text(page, GW_PAGE_MARGIN, y - 6.0, w, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
        y += LINE - 2.0;
    }
    gw_format_count(model->calls_count, calls);
    gw_format_count(model->ops_count, ops);
    gw_format_duration((double)(model->run.end_ns - model->run.begin_ns), length);
    describe_steps(model, steps, sizeof(steps));
    snprintf(text, sizeof(text), "%s  ·  %s CUDA calls  ·  %s GPU operations  ·  %s traced", steps, calls, ops, length);
    gw_page_text(page, GW_PAGE_MARGIN, y - 6.0, w, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
    return y + LINE;
}

static void describe(const struct gw_model *model, const struct gw_budget_data *budget, char *text, size_t size)
{
    const struct gw_budget_row *row = &budget->median;

    if (model->calls_count == 0)
        snprintf(text, size, "no CUDA call was recorded");
    else if (budget->median_number == GW_NONE || row->total_ns <= 0.0)
        snprintf(text, size, "no repeating step was found");
    else
        gw_page_describe_step(row->total_ns, row->ns[GW_CLASS_COMPUTE], row->ns[GW_CLASS_IDLE_UNKNOWN], text, size);
}

void gw_layout_overview(struct gw_page *page)
{
    struct gw_timeline_data timeline = {.begin_ns = 0};
    struct gw_budget_data budget;
    bool have_window = gw_timeline_window(page->source, page->options, 0, &timeline);
    char text[160];
    double y;
    int error = gw_budget_data_create(page->source, &budget);

    if (!error && have_window)
        error = gw_timeline_fill(page->source, &timeline);
    if (error) {
        page->scene->error = error;
        goto end;
    }
    describe(page->source->model, &budget, text, sizeof(text));
    y = gw_page_title(page, text);
    y = draw_facts(page, y);
    if (page->source->verdicts && page->source->model->calls_count) {
        y = heading(page, y, "Verdicts");
        y = draw_verdicts(page, y);
    }
    if (budget.median_number != GW_NONE && budget.median.total_ns > 0.0) {
        y = heading(page, y, "Where the median step's time goes");
        y = draw_budget(page, &budget, y);
    }
    y = heading(page, y, timeline.step_end > timeline.step_first ? "The median step" : "The run");
    if (timeline.rows_count) {
        y = gw_timeline_panel(page, &timeline, y);
        y = gw_timeline_legend(page, &timeline, y);
    } else {
        y = gw_page_empty(page, y,
                          page->source->model->calls_count ? "There is nothing in the range asked for."
                                                           : "No CUDA call was recorded in this run.");
    }
    gw_page_finish(page, y, NULL);
end:
    gw_timeline_data_clear(&timeline);
    gw_budget_data_clear(&budget);
}
