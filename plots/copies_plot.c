/*
 * copies: every copy as a dot, its size against its rate. Copies from pageable memory lie below those of the same size
 * from page-locked memory.
 */
#include "plots/chart.h"
#include "plots/layouts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/copies.h"

#define DOTS_MAX 20000u
#define CHART_HEIGHT 470.0
#define AXIS_WIDTH 80.0

static const struct {
    uint32_t colour;
    const char *words;
} groups[GW_COPY_GROUP_COUNT] = {
    [GW_COPIES_H2D_PAGEABLE] = {0xe9775cff, "to device from pageable memory"},
    [GW_COPIES_H2D_PINNED] = {0x1f9e8fff, "to device from page-locked memory"},
    [GW_COPIES_H2D_UNKNOWN] = {0xc9a227ff, "to device from memory not known"},
    [GW_COPIES_D2H_PAGEABLE] = {0xb0475fff, "to host into pageable memory"},
    [GW_COPIES_D2H_PINNED] = {0x2f6fb0ff, "to host into page-locked memory"},
    [GW_COPIES_D2H_UNKNOWN] = {0x7a8f2aff, "to host into memory not known"},
    [GW_COPIES_D2D] = {0x8a93a1ff, "on one device"},
    [GW_COPIES_P2P] = {0x9364b5ff, "between devices"},
};

/* Which group a copy belongs to; GW_COPY_GROUP_COUNT for what is no copy, or has no time or no size. */
static enum gw_copy_group group_of(const struct gw_model *model, const struct gw_op *op)
{
    const enum gw_copy_group group = gw_copy_group(model, op);

    return op->flags & GW_OP_UNTIMED || op->size_bytes == 0 || op->end_ns <= op->start_ns || group == GW_COPIES_MEMSET
               ? GW_COPY_GROUP_COUNT
               : group;
}

/* By operation, whether it copies what another one has copied the same way before. Returns NULL without memory. */
static bool *find_repeated(const struct gw_model *model)
{
    bool *repeated = calloc(model->ops_count + 1, sizeof(*repeated));
    struct gw_repeat *repeats = NULL;
    size_t count = 0;

    if (!repeated || gw_copy_repeats(model, &repeats, &count) < 0) {
        free(repeated);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        repeated[repeats[i].second] = repeats[i].kind == GW_REPEAT_SAME;
    free(repeats);
    return repeated;
}

static double rate_of(const struct gw_op *op)
{
    return (double)op->size_bytes / (double)(op->end_ns - op->start_ns);
}

struct group_sum {
    size_t count, repeated;
    double bytes, ns, repeated_bytes;
};

/* Sums up the groups and sets the chart's axes to what there is. Returns how many copies have times. */
static size_t measure(const struct gw_model *model, const bool *repeated, struct gw_chart *chart,
                      struct group_sum *sums)
{
    double least_size = INFINITY, most_size = 0.0, least_rate = INFINITY, most_rate = 0.0;
    size_t count = 0;

    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        enum gw_copy_group group = group_of(model, op);
        if (group == GW_COPY_GROUP_COUNT)
            continue;
        least_size = fmin(least_size, (double)op->size_bytes);
        most_size = fmax(most_size, (double)op->size_bytes);
        least_rate = fmin(least_rate, rate_of(op));
        most_rate = fmax(most_rate, rate_of(op));
        sums[group].count++;
        sums[group].bytes += (double)op->size_bytes;
        sums[group].ns += (double)(op->end_ns - op->start_ns);
        sums[group].repeated += repeated[i];
        sums[group].repeated_bytes += repeated[i] ? (double)op->size_bytes : 0.0;
        count++;
    }
    if (count) {
        chart->across = gw_axis_logarithmic(GW_AXIS_BYTES, least_size, most_size);
        chart->up = gw_axis_logarithmic(GW_AXIS_RATE, least_rate, most_rate);
    }
    return count;
}

/* Says how much was copied again, where anything was. */
static double draw_repeated(struct gw_page *page, const struct group_sum *sums, double y)
{
    size_t repeated = 0;
    double bytes = 0.0;
    char count[GW_UNIT_TEXT], size[GW_UNIT_TEXT], text[160];

    for (size_t i = 0; i < GW_COPY_GROUP_COUNT; i++) {
        repeated += sums[i].repeated;
        bytes += sums[i].repeated_bytes;
    }
    if (repeated == 0)
        return y;
    gw_format_count(repeated, count);
    gw_format_bytes(bytes, size);
    snprintf(text, sizeof(text),
             "Ringed: %s copies, %s in all, of bytes that by their hash an earlier copy carried the same way.", count,
             size);
    return gw_page_paragraph(page, GW_PAGE_MARGIN, y + 6.0, page->options->width - 2.0 * GW_PAGE_MARGIN, GW_SIZE_TEXT,
                             page->theme->text, text);
}

void gw_layout_copies(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + AXIS_WIDTH, .h = CHART_HEIGHT};
    struct group_sum sums[GW_COPY_GROUP_COUNT] = {{0}};
    bool *repeated = find_repeated(model);
    size_t total, every, at = 0, used = 0;
    struct gw_legend_entry entries[GW_COPY_GROUP_COUNT];
    char labels[GW_COPY_GROUP_COUNT][160], count[GW_UNIT_TEXT], bytes[GW_UNIT_TEXT], rate_text[GW_UNIT_TEXT],
        note[96] = "";
    double y = gw_page_title(page, "size and rate of every copy");

    if (!repeated) {
        page->scene->error = -ENOMEM;
        return;
    }
    total = measure(model, repeated, &chart, sums);
    every = total / DOTS_MAX + 1;
    if (total == 0) {
        y = gw_page_empty(page, y, "No copy with known times was recorded in this run.");
        gw_page_finish(page, y, NULL);
        free(repeated);
        return;
    }
    chart.y = y + 8.0;
    chart.w = page->options->width - GW_PAGE_MARGIN - chart.x - 8.0;
    gw_chart_draw_up(page, &chart, AXIS_WIDTH);
    gw_chart_draw_across(page, &chart, "size of the copy (its rate upwards; both logarithmic)");
    for (size_t i = 0; i < model->ops_count; i++) {
        enum gw_copy_group group = group_of(model, &model->ops[i]);
        double x, rate_y;
        if (group == GW_COPY_GROUP_COUNT || at++ % every)
            continue;
        x = gw_chart_x(&chart, (double)model->ops[i].size_bytes);
        rate_y = gw_chart_y(&chart, rate_of(&model->ops[i]));
        if (repeated[i])
            gw_scene_circle(page->scene, x, rate_y, 6.0, gw_colour_faded(page->theme->text, 0.5));
        gw_scene_circle(page->scene, x, rate_y, 4.0, gw_colour_faded(groups[group].colour, repeated[i] ? 1.0 : 0.55));
    }
    for (size_t i = 0; i < GW_COPY_GROUP_COUNT; i++) {
        if (sums[i].count == 0)
            continue;
        gw_format_count(sums[i].count, count);
        gw_format_bytes(sums[i].bytes, bytes);
        gw_format_rate(sums[i].bytes / sums[i].ns, rate_text);
        snprintf(labels[i], sizeof(labels[i]), "%s: %s copies, %s at %s", groups[i].words, count, bytes, rate_text);
        entries[used++] = (struct gw_legend_entry){groups[i].colour, labels[i], false};
    }
    y = gw_page_legend(page, GW_PAGE_MARGIN, chart.y + CHART_HEIGHT + GW_CHART_BELOW + 6.0,
                       page->options->width - 2.0 * GW_PAGE_MARGIN, "copies", entries, used);
    y = draw_repeated(page, sums, y);
    if (every > 1)
        snprintf(note, sizeof(note), "a dot for every %zu copies", every);
    gw_page_finish(page, y, note);
    free(repeated);
}
