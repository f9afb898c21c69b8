#include "plots/waterfall.h"

#include <math.h>
#include <stdio.h>

#include "plots/chart.h"

#define LINE 28.0
#define NAME_WIDTH 280.0
#define AMOUNT_WIDTH 92.0
#define WORDS_WIDTH 210.0
#define LONGER 0xe0703aff /* told apart by lightness too, and by the sign of the amount */
#define SHORTER 0x2f6fb0ff

static void draw_total(struct gw_page *page, const struct gw_chart *chart, const char *name, double ns, double y)
{
    char text[GW_UNIT_TEXT];
    double facts = chart->x + chart->w + 10.0;

    gw_page_bold(page, GW_PAGE_MARGIN, y, NAME_WIDTH - 12.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, name);
    gw_scene_rect(page->scene, GW_FOR_BAR, chart->x, y + 4.0, gw_chart_x(chart, ns) - chart->x, LINE - 8.0,
                  page->theme->muted);
    gw_format_duration(ns, text);
    gw_page_bold(page, facts, y, AMOUNT_WIDTH, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
}

static void draw_step(struct gw_page *page, const struct gw_chart *chart, const struct gw_waterfall_step *step,
                      double from_ns, double y)
{
    double left = gw_chart_x(chart, fmin(from_ns, from_ns + step->ns)), facts = chart->x + chart->w + 10.0;
    double right = gw_chart_x(chart, fmax(from_ns, from_ns + step->ns)), end = gw_chart_x(chart, from_ns + step->ns);
    char length[GW_UNIT_TEXT], text[GW_UNIT_TEXT + 4];

    if (step->colour)
        gw_scene_rect(page->scene, GW_FOR_DECORATION, GW_PAGE_MARGIN, y + LINE / 2.0 - 6.0, 12.0, 12.0, step->colour);
    gw_page_text(page, GW_PAGE_MARGIN + 20.0, y, NAME_WIDTH - 32.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, step->name);
    gw_page_bar(page, left, y + 4.0, fmax(1.0, right - left), LINE - 8.0, step->ns > 0.0 ? LONGER : SHORTER,
                step->uncertain, NULL, GW_SIZE_SMALL, 0.0);
    /* Where the next line goes on. */
    gw_scene_line(page->scene, end, y + 4.0, end, y + LINE + 4.0, 1.0, page->theme->muted);
    gw_format_duration(fabs(step->ns), length);
    snprintf(text, sizeof(text), "%s%s", step->ns > 0.0 ? "+" : step->ns < 0.0 ? "−" : "", length);
    gw_page_text(page, facts, y, AMOUNT_WIDTH, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
    if (step->words)
        gw_page_muted(page, facts + AMOUNT_WIDTH + 14.0, y, WORDS_WIDTH - 24.0, LINE, GW_SIZE_SMALL, GW_ALIGN_LEFT,
                      step->words);
}

double gw_waterfall_draw(struct gw_page *page, const struct gw_waterfall *waterfall, double y)
{
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + NAME_WIDTH, .y = y, .h = LINE * (double)(waterfall->count + 2)};
    double at_ns = waterfall->from_ns, most_ns = fmax(waterfall->from_ns, waterfall->to_ns);

    for (size_t i = 0; i < waterfall->count; i++) {
        at_ns += waterfall->steps[i].ns;
        most_ns = fmax(most_ns, at_ns);
    }
    chart.w = page->options->width - 2.0 * GW_PAGE_MARGIN - NAME_WIDTH - AMOUNT_WIDTH - WORDS_WIDTH;
    chart.across = gw_axis_rounded(
        gw_axis_linear(GW_AXIS_DURATION, 0.0, most_ns > 0.0 ? most_ns : 1.0, (unsigned int)(chart.w / 80.0) + 1));
    gw_chart_draw_across(page, &chart, "");
    draw_total(page, &chart, waterfall->from_name, waterfall->from_ns, y);
    at_ns = waterfall->from_ns;
    gw_scene_line(page->scene, gw_chart_x(&chart, at_ns), y + 4.0, gw_chart_x(&chart, at_ns), y + LINE + 4.0, 1.0,
                  page->theme->muted);
    for (size_t i = 0; i < waterfall->count; i++) {
        y += LINE;
        draw_step(page, &chart, &waterfall->steps[i], at_ns, y);
        at_ns += waterfall->steps[i].ns;
    }
    draw_total(page, &chart, waterfall->to_name, waterfall->to_ns, y + LINE);
    return chart.y + chart.h + 30.0;
}
