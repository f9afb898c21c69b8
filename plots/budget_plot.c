/*
 * budget: every step as a bar of classes, the median step beside it with its legend in milliseconds.
 */
#include "analyzer/model/sorted.h"
#include "plots/budget_data.h"
#include "plots/chart.h"
#include "plots/layouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHART_HEIGHT 420.0
#define AXIS_WIDTH 72.0
#define SIDE_WIDTH 570.0
#define MEDIAN_WIDTH 74.0
#define LINE 24.0
#define CLIP 3.0 /* times the median: longer steps are cut, or nothing else could be read */

/* The upper end of the axis, and how many steps are longer. */
static double choose_limit(const struct gw_budget_data *data, size_t *ret_cut, double *ret_longest)
{
    double *totals = malloc(data->rows_count * sizeof(*totals));
    double longest = 0.0, limit;

    *ret_cut = 0;
    for (size_t i = 0; i < data->rows_count; i++)
        longest = fmax(longest, data->rows[i].total_ns);
    *ret_longest = longest;
    if (!totals)
        return longest;
    for (size_t i = 0; i < data->rows_count; i++)
        totals[i] = data->rows[i].total_ns;
    limit = CLIP * gw_upper_median(totals, data->rows_count);
    free(totals);
    if (longest <= limit)
        return longest;
    for (size_t i = 0; i < data->rows_count; i++)
        *ret_cut += data->rows[i].total_ns > limit;
    return limit;
}

static void stack(struct gw_page *page, const struct gw_chart *chart, double x, double w,
                  const struct gw_budget_row *row)
{
    double bottom = chart->y + chart->h;

    for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++) {
        double h = row->ns[cls] / chart->up.high * chart->h;
        double visible = fmin(h, bottom - chart->y);
        if (h <= 0.0 || visible <= 0.0)
            continue;
        if (cls == GW_CLASS_IDLE_UNKNOWN)
            gw_scene_hatched_rect(page->scene, GW_FOR_BAR, x, bottom - visible, w, visible, gw_colour_of_class(cls));
        else
            gw_scene_rect(page->scene, GW_FOR_BAR, x, bottom - visible, w, visible, gw_colour_of_class(cls));
        bottom -= visible;
    }
}

/* Each column is one step, or the mean of a few where there are more steps than room. */
static void draw_steps(struct gw_page *page, const struct gw_budget_data *data, const struct gw_chart *chart)
{
    size_t columns = data->rows_count, most = (size_t)(chart->w / 3.0);
    double column_width, bar_width;
    struct gw_axis numbers;
    size_t warmup_end = 0;
    double warmup_label = chart->x; /* right end of that label */
    char label[64];

    if (columns > most)
        columns = most;
    column_width = fmin(40.0, chart->w / (double)columns);
    bar_width = column_width > 3.5 ? column_width - fmin(3.0, column_width * 0.15) : column_width;
    for (size_t i = 0; i < data->rows_count; i++)
        if (data->rows[i].warmup && i == warmup_end)
            warmup_end++;
    if (warmup_end) {
        double w = column_width * (double)warmup_end * (double)columns / (double)data->rows_count;
        gw_scene_rect(page->scene, GW_FOR_DECORATION, chart->x, chart->y, w, chart->h, page->theme->row);
        gw_page_muted(page, chart->x + 2.0, chart->y - 20.0, 60.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_LEFT, "warm-up");
        warmup_label = chart->x + 66.0;
    }
    gw_chart_draw_up(page, chart, AXIS_WIDTH);
    for (size_t column = 0; column < columns; column++) {
        size_t first = column * data->rows_count / columns, end = (column + 1) * data->rows_count / columns;
        struct gw_budget_row mean = {.warmup = false};
        for (size_t i = first; i < end; i++)
            for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++)
                mean.ns[cls] += data->rows[i].ns[cls] / (double)(end - first);
        stack(page, chart, chart->x + (double)column * column_width, bar_width, &mean);
        if (data->median_number >= first && data->median_number < end) {
            double x = chart->x + ((double)column + 0.5) * column_width;
            double right = chart->x + chart->w, w;
            bool flip; /* the label stands left of its mark near the right end */
            snprintf(label, sizeof(label), "median: step %" PRIu32, data->median_number);
            w = ceil(gw_page_text_width(page, label, GW_SIZE_SMALL, true)) + 1.0;
            if (fmax(x + 6.0, warmup_label) + w > right && x - 6.0 - w < warmup_label) {
                snprintf(label, sizeof(label), "median");
                w = ceil(gw_page_text_width(page, label, GW_SIZE_SMALL, true)) + 1.0;
            }
            flip = fmax(x + 6.0, warmup_label) + w > right;
            gw_page_bold(page, flip ? x - 6.0 - w : fmax(x + 6.0, warmup_label), chart->y - 20.0, w, 18.0,
                         GW_SIZE_SMALL, GW_ALIGN_LEFT, label);
            gw_scene_line(page->scene, x, chart->y - 4.0, x, chart->y, 1.5, page->theme->text);
        }
    }
    numbers = gw_axis_linear(GW_AXIS_NUMBER, 0.0, (double)data->rows_count - 0.5,
                             (unsigned int)(column_width * (double)columns / 70.0) + 1);
    for (unsigned int i = 0; i < gw_axis_ticks(&numbers); i++) {
        double number = gw_axis_tick(&numbers, i);
        double x = chart->x + (number + 0.5) / (double)data->rows_count * column_width * (double)columns;
        gw_axis_label(&numbers, number, label);
        gw_page_muted(page, x - 30.0, chart->y + chart->h + 5.0, 60.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, label);
    }
    gw_page_muted(page, chart->x, chart->y + chart->h + 24.0, column_width * (double)columns, 18.0, GW_SIZE_SMALL,
                  GW_ALIGN_CENTRE, columns < data->rows_count ? "step (a bar is the mean of several)" : "step");
}

static void draw_amount(struct gw_page *page, double x, double y, double ns, bool bold)
{
    char text[GW_UNIT_TEXT] = "–";

    if (ns > 0.0)
        gw_format_duration(ns, text);
    (bold ? gw_page_bold : gw_page_text)(page, x, y, 76.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
}

/* The median step's bar, and a table of all classes of the picture in the order of the bar from the top. */
static void draw_median(struct gw_page *page, const struct gw_budget_data *data, const struct gw_chart *chart)
{
    const struct gw_budget_row *row = &data->median;
    double x = chart->x, table = chart->x + MEDIAN_WIDTH + 22.0, y = chart->y;
    double name_w = chart->w - MEDIAN_WIDTH - 22.0 - 20.0 - 216.0, amounts = table + 20.0 + name_w;
    struct gw_chart own = *chart;
    char text[GW_UNIT_TEXT];

    own.up.high = row->total_ns;
    stack(page, &own, x, MEDIAN_WIDTH, row);
    gw_page_muted(page, amounts, y - 22.0, 76.0, 20.0, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "this step");
    gw_page_muted(page, amounts + 140.0, y - 22.0, 76.0, 20.0, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "mean step");
    for (int cls = GW_CLASS_COUNT - 1; cls >= 0; cls--) {
        if (!data->used[cls])
            continue;
        if (cls == GW_CLASS_IDLE_UNKNOWN)
            gw_scene_hatched_rect(page->scene, GW_FOR_DECORATION, table, y + 6.0, 12.0, 12.0, gw_colour_of_class(cls));
        else
            gw_scene_rect(page->scene, GW_FOR_DECORATION, table, y + 6.0, 12.0, 12.0, gw_colour_of_class(cls));
        gw_page_text(page, table + 20.0, y, name_w - 4.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, gw_class_words(cls));
        draw_amount(page, amounts, y, row->ns[cls], false);
        snprintf(text, sizeof(text), "%.1f %%", row->ns[cls] / row->total_ns * 100.0);
        if (row->ns[cls] > 0.0)
            gw_page_muted(page, amounts + 78.0, y, 58.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
        draw_amount(page, amounts + 140.0, y, data->mean.ns[cls], false);
        y += LINE;
    }
    gw_scene_line(page->scene, table, y + 3.0, amounts + 216.0, y + 3.0, 1.0, page->theme->grid);
    gw_page_bold(page, table + 20.0, y + 6.0, name_w - 4.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, "whole step");
    draw_amount(page, amounts, y + 6.0, row->total_ns, true);
    draw_amount(page, amounts + 140.0, y + 6.0, data->mean.total_ns, true);
}

static void write_note(const struct gw_budget_data *data, size_t cut, double longest_ns, char *note, size_t size)
{
    char part[128], longest[GW_UNIT_TEXT];

    gw_format_duration(longest_ns, longest);
    snprintf(part, sizeof(part), "%zu step%s longer than the axis; the longest takes %s", cut,
             cut == 1 ? " is" : "s are", longest);
    gw_page_add_part(note, size, cut ? part : NULL);
    snprintf(part, sizeof(part), "mean over %" PRIu32 " devices", data->devices);
    gw_page_add_part(note, size, data->devices > 1 ? part : NULL);
    snprintf(part, sizeof(part), "%" PRIu32 " process%s of other programs left out", data->other_processes,
             data->other_processes == 1 ? " is" : "es are");
    gw_page_add_part(note, size, data->other_processes ? part : NULL);
}

void gw_layout_budget(struct gw_page *page)
{
    struct gw_budget_data data;
    size_t cut;
    double longest, y;
    char note[256] = "", title[160] = "where the time of each step goes";
    int error = gw_budget_data_create(page->source, &data);

    if (error) {
        page->scene->error = error;
        goto end;
    }
    if (data.median_number != GW_NONE && data.median.total_ns > 0.0)
        gw_page_describe_step(data.median.total_ns, data.median.ns[GW_CLASS_COMPUTE],
                              data.median.ns[GW_CLASS_IDLE_UNKNOWN], title, sizeof(title));
    y = gw_page_title(page, title);
    if (data.rows_count == 0) {
        y = gw_page_empty(page, y, "No repeating step was found in this run, so there is no time per step to divide.");
        gw_page_finish(page, y, NULL);
        goto end;
    }
    {
        double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
        struct gw_chart steps = {.x = GW_PAGE_MARGIN + AXIS_WIDTH,
                                 .y = y + 26.0,
                                 .w = w - AXIS_WIDTH - SIDE_WIDTH - 36.0,
                                 .h = CHART_HEIGHT};
        struct gw_chart median = {
            .x = GW_PAGE_MARGIN + w - SIDE_WIDTH, .y = y + 26.0, .w = SIDE_WIDTH, .h = CHART_HEIGHT};
        steps.up = gw_axis_linear(GW_AXIS_DURATION, 0.0, choose_limit(&data, &cut, &longest) * 1.02, 7);
        draw_steps(page, &data, &steps);
        if (data.median_number != GW_NONE && data.median.total_ns > 0.0) {
            gw_page_bold(page, median.x, y + 4.0, SIDE_WIDTH, 20.0, GW_SIZE_TEXT, GW_ALIGN_LEFT, "the median step");
            draw_median(page, &data, &median);
        }
    }
    write_note(&data, cut, longest, note, sizeof(note));
    gw_page_finish(page, y + 26.0 + CHART_HEIGHT + 44.0, note);
end:
    gw_budget_data_clear(&data);
}
