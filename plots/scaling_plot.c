/*
 * scaling: what more devices give, beside what they would give at best, and where the rest goes.
 */
#include "analyzer/diff/diff.h"
#include "analyzer/diff/scaling.h"
#include "plots/chart.h"
#include "plots/layouts.h"
#include "plots/waterfall.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 34.0
#define NAME_WIDTH 130.0
#define WORDS_WIDTH 260.0

static const enum gw_class colours[GW_SCALING_PARTS] = {
    [GW_SCALING_COMMUNICATION] = GW_CLASS_COMM_TRANSFER,
    [GW_SCALING_STRAGGLERS] = GW_CLASS_COMM_WAIT,
    [GW_SCALING_HOST] = GW_CLASS_IDLE_HOST,
    [GW_SCALING_OVERLAP] = GW_CLASS_COPY_H2D,
    [GW_SCALING_KERNELS] = GW_CLASS_COMPUTE,
    [GW_SCALING_REST] = GW_CLASS_IDLE_UNKNOWN,
};

/* What a run gets done, as a multiple of A's: as much as its devices could, and as much as they do. */
static void draw_run(struct gw_page *page, const struct gw_chart *chart, uint32_t devices, double perfect,
                     double reached, double y)
{
    char text[96];

    snprintf(text, sizeof(text), "%" PRIu32 " device%s", devices, devices == 1 ? "" : "s");
    gw_page_text(page, GW_PAGE_MARGIN, y, NAME_WIDTH - 12.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
    gw_scene_hatched_rect(page->scene, GW_FOR_BAR, chart->x, y + 4.0, gw_chart_x(chart, perfect) - chart->x, LINE - 8.0,
                          gw_colour_faded(page->theme->accent, 0.35));
    gw_scene_rect(page->scene, GW_FOR_BAR, chart->x, y + 4.0, gw_chart_x(chart, reached) - chart->x, LINE - 8.0,
                  page->theme->accent);
    snprintf(text, sizeof(text), "%.2f of %.2f, %.0f %% of perfect", reached, perfect, reached / perfect * 100.0);
    gw_page_text(page, chart->x + chart->w + 14.0, y, WORDS_WIDTH - 14.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
}

static double draw_throughput(struct gw_page *page, const struct gw_scaling *scaling, double y)
{
    double perfect = (double)scaling->devices_b / scaling->devices_a, reached = perfect * scaling->efficiency;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + NAME_WIDTH, .y = y + 32.0, .h = 2.0 * LINE};

    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT,
                 "Work done in the same time, as a multiple of A's");
    chart.w = w - NAME_WIDTH - WORDS_WIDTH;
    chart.across = gw_axis_rounded(
        gw_axis_linear(GW_AXIS_FACTOR, 0.0, fmax(1.0, fmax(perfect, reached)), (unsigned int)(chart.w / 110.0) + 1));
    gw_chart_draw_across(page, &chart, "hatched: with perfect scaling");
    draw_run(page, &chart, scaling->devices_a, 1.0, 1.0, chart.y);
    draw_run(page, &chart, scaling->devices_b, perfect, reached, chart.y + LINE);
    return chart.y + chart.h + GW_CHART_BELOW + 16.0;
}

static double draw_losses(struct gw_page *page, const struct gw_scaling *scaling, const struct gw_diff_side *b,
                          double y)
{
    struct gw_waterfall_step steps[GW_SCALING_PARTS];
    struct gw_waterfall waterfall = {.from_name = "perfect scaling",
                                     .from_ns = scaling->ideal_ms * 1e6,
                                     .to_ns = b->step.ms * 1e6,
                                     .steps = steps,
                                     .count = GW_SCALING_PARTS};
    char noises[GW_SCALING_PARTS][64], heading[96], to_name[64], noise[GW_UNIT_TEXT];
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;

    for (size_t i = 0; i < GW_SCALING_PARTS; i++) {
        const struct gw_scaling_loss *loss = &scaling->parts[i];
        gw_format_duration(2e6 * loss->error_ms, noise);
        if (isinf(loss->error_ms))
            snprintf(noises[i], sizeof(noises[i]), "noise unknown");
        else
            snprintf(noises[i], sizeof(noises[i]), "±%s%s", noise, loss->is_noise ? ", within noise" : "");
        steps[i] = (struct gw_waterfall_step){.name = gw_scaling_part_name((enum gw_scaling_part)i),
                                              .colour = gw_colour_of_class(colours[i]),
                                              .ns = loss->ms * 1e6,
                                              .words = noises[i],
                                              .uncertain = loss->is_noise};
    }
    snprintf(heading, sizeof(heading), "What a %.40s of B loses against perfect scaling", page->source->unit);
    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT, heading);
    snprintf(to_name, sizeof(to_name), "a %.40s of B", page->source->unit);
    waterfall.to_name = to_name;
    return gw_waterfall_draw(page, &waterfall, y + 30.0);
}

void gw_layout_scaling(struct gw_page *page)
{
    const struct gw_diff_side *a = page->source->side, *b = page->source->against;
    bool has_units = strcmp(page->source->unit, "step") != 0;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN, y = gw_page_two_runs(page);
    struct gw_scaling scaling;
    char *answer;

    if (!gw_scaling_of(a, b, has_units, &scaling)) {
        y = gw_page_empty(page, y, "Both runs work on the same number of devices, so nothing is said of scaling.");
        gw_page_end(page, y, NULL);
        return;
    }
    answer = gw_scaling_answer(&scaling, page->source->unit);
    if (!answer) {
        page->scene->error = -ENOMEM;
        return;
    }
    y = gw_page_paragraph(page, GW_PAGE_MARGIN, y, w, GW_SIZE_TEXT + 1.0, page->theme->text, answer);
    free(answer);
    y = draw_throughput(page, &scaling, y + 12.0);
    y = draw_losses(page, &scaling, b, y);
    gw_page_end(page, y,
                has_units ? "hatched changes and those called noise are smaller than two standard errors of the means"
                          : "each device is taken to do as much a step in B as in A; --per says what a step makes  ·  "
                            "hatched changes and those called noise are smaller than two standard errors of the means");
}
