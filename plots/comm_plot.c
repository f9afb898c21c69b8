/*
 * comm: the bus bandwidth of every exchange against its size, beside what the run's best ones lead to expect, and how
 * much of each device's communication nothing hides.
 */
#include "plots/chart.h"
#include "plots/comm_data.h"
#include "plots/devices.h"
#include "plots/layouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DOTS_MAX 20000u
#define CHART_HEIGHT 380.0
#define AXIS_WIDTH 86.0
#define CURVE_POINTS 160u
#define SHARES_MAX 16u
#define LINE 26.0
#define KINDS (GW_COMM_KIND_COUNT + 1u)

static const uint32_t colours[KINDS] = {
    [GW_COMM_ALL_REDUCE] = 0x9364b5ff, [GW_COMM_REDUCE] = 0x8a5a44ff,     [GW_COMM_REDUCE_SCATTER] = 0x1f9e8fff,
    [GW_COMM_BROADCAST] = 0xf0923aff,  [GW_COMM_ALL_GATHER] = 0x2f6fb0ff, [GW_COMM_ALL_TO_ALL] = 0xb8b63cff,
    [GW_COMM_GATHER] = 0xe58bbfff,     [GW_COMM_SCATTER] = 0x5a6270ff,    [GW_COMM_SEND] = 0xcf4759ff,
    [GW_COMM_RECV] = 0xcf4759ff,       [GW_COMM_KIND_COUNT] = 0x8a93a1ff,
};

static uint32_t kind_of(const struct gw_exchange *exchange)
{
    return exchange->kind < GW_COMM_KIND_COUNT ? exchange->kind : GW_COMM_KIND_COUNT;
}

static const char *kind_words(uint32_t kind)
{
    return kind == GW_COMM_SEND         ? "send and receive"
           : kind == GW_COMM_KIND_COUNT ? "several kinds in one kernel"
                                        : gw_comm_kind_name((enum gw_comm_kind)kind);
}

static void set_axes(const struct gw_comm_data *data, struct gw_chart *chart)
{
    double least_size = INFINITY, most_size = 0.0, least_rate = INFINITY, most_rate = data->best_rate;

    for (size_t i = 0; i < data->exchanges_count; i++) {
        double rate = gw_exchange_rate(&data->exchanges[i]);
        least_size = fmin(least_size, data->exchanges[i].bus_bytes);
        most_size = fmax(most_size, data->exchanges[i].bus_bytes);
        least_rate = fmin(least_rate, rate);
        most_rate = fmax(most_rate, rate);
    }
    chart->across = gw_axis_logarithmic(GW_AXIS_BYTES, least_size, most_size);
    chart->up = gw_axis_logarithmic(GW_AXIS_RATE, least_rate, most_rate);
}

/* The expected rate as a line, from the chart's left to its right, where it lies within the chart. */
static void draw_expected(struct gw_page *page, const struct gw_comm_data *data, const struct gw_chart *chart)
{
    double ratio = chart->across.high / chart->across.low, last_x = 0.0, last_y = 0.0, floor_y = chart->y + chart->h;

    for (unsigned int i = 0; i <= CURVE_POINTS; i++) {
        double bytes = chart->across.low * pow(ratio, (double)i / CURVE_POINTS);
        double x = gw_chart_x(chart, bytes), y = gw_chart_y(chart, gw_comm_expected_rate(data, bytes));
        if (i > 0 && y <= floor_y && last_y <= floor_y)
            gw_scene_line(page->scene, last_x, last_y, x, y, 1.6, page->theme->muted);
        last_x = x;
        last_y = y;
    }
}

struct kind_sum {
    size_t count;
    double size_bytes, bus_bytes, ns;
};

static double draw_exchanges(struct gw_page *page, const struct gw_comm_data *data, double y)
{
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + AXIS_WIDTH, .y = y + 34.0, .h = CHART_HEIGHT};
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    size_t every = data->exchanges_count / DOTS_MAX + 1, used = 0;
    struct kind_sum sums[KINDS] = {{0}};
    struct gw_legend_entry entries[KINDS + 1];
    char labels[KINDS + 1][160], count[GW_UNIT_TEXT], bytes[GW_UNIT_TEXT], rate[GW_UNIT_TEXT];

    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT,
                 "Bus bandwidth, once the last rank has arrived");
    chart.w = page->options->width - GW_PAGE_MARGIN - chart.x - 8.0;
    set_axes(data, &chart);
    gw_chart_draw_up(page, &chart, AXIS_WIDTH);
    gw_chart_draw_across(page, &chart, "bytes that cross the busiest link (bus bandwidth upwards; both logarithmic)");
    draw_expected(page, data, &chart);
    for (size_t i = 0; i < data->exchanges_count; i++) {
        const struct gw_exchange *exchange = &data->exchanges[i];
        struct kind_sum *sum = &sums[kind_of(exchange)];
        sum->count++;
        sum->size_bytes += (double)exchange->size_bytes;
        sum->bus_bytes += exchange->bus_bytes;
        sum->ns += (double)exchange->transfer_ns;
        if (i % every == 0)
            gw_scene_circle(page->scene, gw_chart_x(&chart, exchange->bus_bytes),
                            gw_chart_y(&chart, gw_exchange_rate(exchange)), 4.0,
                            gw_colour_faded(colours[kind_of(exchange)], 0.55));
    }
    for (uint32_t i = 0; i < KINDS; i++) {
        if (sums[i].count == 0)
            continue;
        gw_format_count(sums[i].count, count);
        gw_format_bytes(sums[i].size_bytes, bytes);
        gw_format_rate(sums[i].bus_bytes / sums[i].ns, rate);
        snprintf(labels[used], sizeof(labels[used]), "%s: %s of %s in all, %s", kind_words(i), count, bytes, rate);
        entries[used] = (struct gw_legend_entry){colours[i], labels[used], false};
        used++;
    }
    gw_format_rate(data->best_rate, rate);
    gw_format_duration(data->latency_ns, count);
    if (data->latency_ns > 0.0)
        snprintf(labels[used], sizeof(labels[used]), "expected: %s beyond a latency of %s, the best of this run", rate,
                 count);
    else
        snprintf(labels[used], sizeof(labels[used]), "expected: %s, the best of this run", rate);
    entries[used] = (struct gw_legend_entry){page->theme->muted, labels[used], false};
    used++;
    return gw_page_legend(page, GW_PAGE_MARGIN, chart.y + CHART_HEIGHT + GW_CHART_BELOW + 6.0, w, "exchanges", entries,
                          used);
}

static double exposed_ns(const struct gw_comm_share *share)
{
    return share->wait_ns + share->transfer_ns + share->unsplit_ns;
}

static int compare_exposed(const void *left, const void *right)
{
    const struct gw_comm_share *a = left, *b = right;
    double a_part = exposed_ns(a) / a->step_ns, b_part = exposed_ns(b) / b->step_ns;

    return a_part > b_part ? -1 : a_part < b_part;
}

static int compare_ranks(const void *left, const void *right, void *model)
{
    const struct gw_comm_share *a = left, *b = right;
    int32_t a_rank = gw_device_rank(model, a->device), b_rank = gw_device_rank(model, b->device);

    if (a_rank != b_rank)
        return a_rank < b_rank ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

/* A device's communication in a step: hidden behind computing, then what is not; in words beside it. */
static void draw_share(struct gw_page *page, const struct gw_comm_share *share, const struct gw_chart *chart, double y)
{
    const struct {
        double ns;
        uint32_t colour;
    } parts[] = {
        {fmax(0.0, share->all_ns - exposed_ns(share)), gw_colour_faded(gw_colour_of_op(GW_OP_COMM), 0.25)},
        {share->wait_ns, gw_colour_of_class(GW_CLASS_COMM_WAIT)},
        {share->transfer_ns, gw_colour_of_class(GW_CLASS_COMM_TRANSFER)},
        {share->unsplit_ns, gw_colour_of_class(GW_CLASS_COMM_EXPOSED)},
    };
    char name[96], all[GW_UNIT_TEXT], exposed[GW_UNIT_TEXT], text[160];
    double at = 0.0;

    gw_scene_rect(page->scene, GW_FOR_DECORATION, chart->x, y + 3.0,
                  share->all_ns / share->step_ns * 100.0 / chart->across.high * chart->w, LINE - 6.0,
                  page->theme->background);
    gw_page_rank_name(page, share->device, name, sizeof(name));
    gw_page_text(page, GW_PAGE_MARGIN, y, chart->x - GW_PAGE_MARGIN - 12.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, name);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        double from = gw_chart_x(chart, at / share->step_ns * 100.0), to;
        at += parts[i].ns;
        to = gw_chart_x(chart, at / share->step_ns * 100.0);
        if (to > from)
            gw_scene_rect(page->scene, GW_FOR_BAR, from, y + 3.0, to - from, LINE - 6.0, parts[i].colour);
    }
    gw_format_duration(share->all_ns, all);
    gw_format_duration(exposed_ns(share), exposed);
    snprintf(text, sizeof(text), "%s a step, %s exposed (%.1f %% of the step)", all, exposed,
             exposed_ns(share) / share->step_ns * 100.0);
    gw_page_text(page, chart->x + chart->w + 14.0, y,
                 page->options->width - GW_PAGE_MARGIN - chart->x - chart->w - 14.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT,
                 text);
}

static double draw_shares(struct gw_page *page, struct gw_comm_data *data, double y)
{
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN, most = 0.0;
    size_t shown = data->shares_count < SHARES_MAX ? data->shares_count : SHARES_MAX;
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + 180.0, .y = y + 32.0, .h = (double)shown * LINE};
    struct gw_legend_entry entries[4];
    static const enum gw_class classes[] = {GW_CLASS_COMM_WAIT, GW_CLASS_COMM_TRANSFER, GW_CLASS_COMM_EXPOSED};
    double sums[3] = {0.0}, hidden = 0.0;
    size_t used = 0;

    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT,
                 shown < data->shares_count ? "Communication in a mean step, devices with the largest exposed share"
                                            : "Communication in a mean step");
    qsort(data->shares, data->shares_count, sizeof(*data->shares), compare_exposed);
    qsort_r(data->shares, shown, sizeof(*data->shares), compare_ranks, (void *)page->source->model);
    for (size_t i = 0; i < shown; i++) {
        most = fmax(most, data->shares[i].all_ns / data->shares[i].step_ns * 100.0);
        hidden += fmax(0.0, data->shares[i].all_ns - exposed_ns(&data->shares[i]));
        sums[0] += data->shares[i].wait_ns;
        sums[1] += data->shares[i].transfer_ns;
        sums[2] += data->shares[i].unsplit_ns;
    }
    if (hidden > 0.0)
        entries[used++] = (struct gw_legend_entry){gw_colour_faded(gw_colour_of_op(GW_OP_COMM), 0.25),
                                                   "hidden behind computing", false};
    for (size_t i = 0; i < 3; i++)
        if (sums[i] > 0.0)
            entries[used++] =
                (struct gw_legend_entry){gw_colour_of_class(classes[i]), gw_class_words(classes[i]), false};
    chart.w = w - 180.0 - 390.0;
    chart.across = gw_axis_rounded(gw_axis_linear(GW_AXIS_PERCENT, 0.0, most, (unsigned int)(chart.w / 90.0) + 1));
    gw_chart_draw_across(page, &chart, "share of the step");
    for (size_t i = 0; i < shown; i++)
        draw_share(page, &data->shares[i], &chart, chart.y + (double)i * LINE);
    return gw_page_legend(page, GW_PAGE_MARGIN, chart.y + chart.h + GW_CHART_BELOW + 6.0, w, "bars", entries, used);
}

void gw_layout_comm(struct gw_page *page)
{
    struct gw_comm_data data;
    char note[128] = "", count[GW_UNIT_TEXT];
    double y;
    int error = gw_comm_data_create(page->source, &data);

    if (error) {
        page->scene->error = error;
        goto end;
    }
    y = gw_page_title(page, "what communication achieves and what it costs");
    if (data.exchanges_count == 0)
        y = gw_page_empty(page, y,
                          page->source->model->collectives_count
                              ? "No collective has known times on all of its ranks, so bandwidths are not known."
                          : data.shares_count ? "It is not known which collectives the communication kernels carry out."
                                              : "No collective of NCCL was recorded in this run.");
    else
        y = draw_exchanges(page, &data, y);
    if (data.shares_count)
        y = draw_shares(page, &data, y + 20.0);
    if (data.unmatched) {
        gw_format_count(data.unmatched, count);
        snprintf(note, sizeof(note), "%s calls are left out: ranks are missing, or times are", count);
    }
    gw_page_finish(page, y, note);
end:
    gw_comm_data_clear(&data);
}
