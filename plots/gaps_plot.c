/*
 * gaps: time lost by the length of the gap it is lost in, stacked by cause. Many short gaps and a few long ones
 * want different repairs.
 */
#include "plots/chart.h"
#include "plots/devices.h"
#include "plots/layouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BINS 20u /* three a decade from 1 µs to 1 s; the first holds all below, the last all above */
#define CHART_HEIGHT 400.0
#define AXIS_WIDTH 76.0

struct bin {
    double ns[GW_CLASS_COUNT];
    double total_ns;
    uint64_t count;
};

struct histogram {
    struct bin bins[BINS];
    double by_class[GW_CLASS_COUNT];
    double most_ns;
    uint32_t first, end; /* of the bins worth showing */
};

/* Shortest gap of a bin: 1, 2 and 5 times the powers of ten. */
static double bin_begin_ns(uint32_t bin)
{
    static const double mantissa[] = {1.0, 2.0, 5.0};
    uint32_t decade = bin == 0 ? 0 : (bin - 1) / 3;

    return bin == 0 ? 0.0 : mantissa[(bin - 1) % 3] * pow(10.0, 3.0 + decade);
}

static uint32_t bin_of(uint64_t length_ns)
{
    uint32_t bin = 0;

    while (bin + 1 < BINS && (double)length_ns >= bin_begin_ns(bin + 1))
        bin++;
    return bin;
}

/* The part of a gap that lies in the range. */
static uint64_t length_within(const struct gw_gap *gap, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t from = gap->begin_ns > begin_ns ? gap->begin_ns : begin_ns,
             to = gap->end_ns < end_ns ? gap->end_ns : end_ns;
    return from < to ? to - from : 0;
}

/* Neighbouring pieces of one idle interval are one gap: its length chooses the bin, its pieces keep their causes. */
static void fill(const struct gw_plot_source *source, uint64_t begin_ns, uint64_t end_ns, struct histogram *histogram)
{
    const struct gw_budget *budget = source->budget;
    uint32_t device = GW_NONE;
    bool used = false;

    for (size_t i = 0; i < budget->gaps_count;) {
        size_t end = i + 1;
        uint64_t length_ns = length_within(&budget->gaps[i], begin_ns, end_ns);
        struct bin *bin;
        if (budget->gaps[i].device != device) {
            device = budget->gaps[i].device;
            used = gw_device_is_used(source->model, device);
        }
        if (!used) {
            i++;
            continue;
        }
        while (end < budget->gaps_count && budget->gaps[end].device == budget->gaps[i].device &&
               budget->gaps[end].begin_ns == budget->gaps[end - 1].end_ns)
            length_ns += length_within(&budget->gaps[end++], begin_ns, end_ns);
        bin = &histogram->bins[bin_of(length_ns)];
        bin->count += length_ns > 0;
        for (; i < end; i++) {
            double ns = (double)length_within(&budget->gaps[i], begin_ns, end_ns);
            bin->ns[budget->gaps[i].cls] += ns;
            bin->total_ns += ns;
            histogram->by_class[budget->gaps[i].cls] += ns;
        }
        histogram->most_ns = fmax(histogram->most_ns, bin->total_ns);
    }
}

/* From the first step after warm-up to the last one; the whole trace without steps. */
static void analysed_range(const struct gw_model *model, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;

    for (size_t i = 0; i < model->steps_count; i++) {
        if (model->steps[i].warmup)
            continue;
        begin_ns = model->steps[i].begin_ns < begin_ns ? model->steps[i].begin_ns : begin_ns;
        end_ns = model->steps[i].end_ns > end_ns ? model->steps[i].end_ns : end_ns;
    }
    *ret_begin_ns = end_ns ? begin_ns : model->run.begin_ns;
    *ret_end_ns = end_ns ? end_ns : model->run.end_ns;
}

/* What stands at the edge below a bin: "20 µs". */
static void edge_label(uint32_t bin, char text[GW_UNIT_TEXT])
{
    if (bin == 0)
        snprintf(text, GW_UNIT_TEXT, "0");
    else
        gw_format_power(bin_begin_ns(bin), GW_POWER_TIME, text);
}

/* The bins that hold something, with a little room, and never so few that the bars become blocks. */
static void choose_bins(struct histogram *histogram)
{
    histogram->first = BINS;
    histogram->end = 0;
    for (uint32_t i = 0; i < BINS; i++)
        if (histogram->bins[i].count) {
            histogram->first = i < histogram->first ? i : histogram->first;
            histogram->end = i + 1;
        }
    histogram->first -= histogram->first > 0;
    histogram->end += histogram->end < BINS;
    while (histogram->end - histogram->first < 12) {
        histogram->end += histogram->end < BINS;
        histogram->first -= histogram->first > 0;
    }
}

static void draw(struct gw_page *page, const struct histogram *histogram, double y)
{
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + AXIS_WIDTH, .y = y, .h = CHART_HEIGHT};
    double bottom = y + CHART_HEIGHT, column;
    char text[GW_UNIT_TEXT], count[GW_UNIT_TEXT];

    chart.w = page->options->width - GW_PAGE_MARGIN - chart.x;
    chart.up = gw_axis_rounded(gw_axis_linear(GW_AXIS_DURATION, 0.0, histogram->most_ns * 1.08, 6));
    column = chart.w / (histogram->end - histogram->first);
    gw_chart_draw_up(page, &chart, AXIS_WIDTH);
    for (uint32_t i = histogram->first; i < histogram->end; i++) {
        const struct bin *bin = &histogram->bins[i];
        double left = chart.x + (i - histogram->first) * column, at = bottom;
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++) {
            double h = bin->ns[cls] / chart.up.high * CHART_HEIGHT;
            if (h <= 0.0)
                continue;
            at -= h;
            if (cls == GW_CLASS_IDLE_UNKNOWN)
                gw_scene_hatched_rect(page->scene, GW_FOR_BAR, left + 4.0, at, column - 8.0, h,
                                      gw_colour_of_class(cls));
            else
                gw_scene_rect(page->scene, GW_FOR_BAR, left + 4.0, at, column - 8.0, h, gw_colour_of_class(cls));
        }
        if (bin->count) {
            gw_format_count(bin->count, count);
            snprintf(text, sizeof(text), "%.20s gap%s", count, bin->count == 1 ? "" : "s");
            if (gw_page_text_width(page, text, GW_SIZE_SMALL, false) > column)
                snprintf(text, sizeof(text), "%s", count);
            gw_page_text(page, left, at - 18.0, column, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
        }
        edge_label(i, text);
        gw_page_muted(page, left - 30.0, bottom + 4.0, 60.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
    }
    gw_page_muted(page, chart.x, bottom + 23.0, chart.w, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE,
                  "length of the gap; the height of a bar is the time lost in all gaps of that length");
}

void gw_layout_gaps(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct histogram histogram = {.most_ns = 0.0};
    struct gw_legend_entry entries[GW_CLASS_COUNT];
    size_t count = 0;
    uint64_t begin_ns, end_ns;
    double y = gw_page_title(page, "when the GPU was idle, for how long and why");

    analysed_range(model, &begin_ns, &end_ns);
    fill(page->source, begin_ns, end_ns, &histogram);
    if (histogram.most_ns <= 0.0) {
        y = gw_page_empty(page, y,
                          model->timing == GW_TIMING_OFF ? "GPU timing was off, so idle time is not known."
                          : model->ops_count             ? "The GPU was never idle."
                                                         : "No GPU operation was recorded in this run.");
        gw_page_finish(page, y, NULL);
        return;
    }
    choose_bins(&histogram);
    draw(page, &histogram, y + 8.0);
    for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++)
        if (histogram.by_class[cls] > 0.0)
            entries[count++] =
                (struct gw_legend_entry){gw_colour_of_class(cls), gw_class_words(cls), cls == GW_CLASS_IDLE_UNKNOWN};
    y = gw_page_legend(page, GW_PAGE_MARGIN, y + CHART_HEIGHT + 58.0, page->options->width - 2.0 * GW_PAGE_MARGIN,
                       "idle because", entries, count);
    gw_page_finish(page, y, model->steps_count ? "all steps after warm-up together" : "the whole run");
}
