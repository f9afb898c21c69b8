#include "plots/chart.h"

#include <math.h>
#include <stdio.h>

#define LABEL_HEIGHT 18.0
#define LABEL_GAP 10.0
#define TINY 1e-9 /* of a tick: what rounding may lose */

/* Bytes are counted in powers of two, with the unit chosen first: 1, 2, 4 … 512 KiB. */
static double bytes_step(double least)
{
    double step = exp2(ceil(log2(least) - TINY));

    return step < 1.0 ? 1.0 : step;
}

struct gw_axis gw_axis_linear(enum gw_axis_unit unit, double low, double high, unsigned int max_ticks)
{
    struct gw_axis axis = {.unit = unit, .low = low, .high = high > low ? high : low + 1.0};
    double span = axis.high - axis.low;

    if (unit == GW_AXIS_BYTES)
        axis.step = bytes_step(span / (max_ticks ? max_ticks : 1));
    else
        axis.step = gw_axis_step(span, max_ticks);
    if (unit == GW_AXIS_NUMBER && axis.step < 1.0)
        axis.step = 1.0;
    return axis;
}

struct gw_axis gw_axis_rounded(struct gw_axis axis)
{
    axis.high = ceil(axis.high / axis.step - TINY) * axis.step;
    return axis;
}

struct gw_axis gw_axis_logarithmic(enum gw_axis_unit unit, double least, double most)
{
    struct gw_axis axis = {.unit = unit, .logarithmic = true, .step = unit == GW_AXIS_BYTES ? 16.0 : 10.0};
    double base = log(axis.step), low, high;

    /* A little room, so that nothing lies on the frame. */
    low = floor((log(least) - 0.1) / base);
    high = ceil((log(most) + 0.1) / base);
    axis.low = exp(low * base);
    axis.high = exp(high * base);
    if (unit == GW_AXIS_BYTES)
        axis.step = high - low <= 1.0 ? 2.0 : high - low <= 3.0 ? 4.0 : 16.0;
    else
        axis.fine = high - low <= 3.0;
    return axis;
}

static const double mantissas[] = {1.0, 2.0, 5.0};

/* Number of the first tick: its multiple of the step, or its power of it, of which a fine axis has three a power. */
static double first_tick(const struct gw_axis *axis)
{
    if (!axis->logarithmic)
        return ceil(axis->low / axis->step - TINY);
    return ceil(log(axis->low) / log(axis->step) - TINY) * (axis->fine ? 3.0 : 1.0);
}

unsigned int gw_axis_ticks(const struct gw_axis *axis)
{
    double last = axis->logarithmic ? floor(log(axis->high) / log(axis->step) + TINY) * (axis->fine ? 3.0 : 1.0)
                                    : floor(axis->high / axis->step + TINY);
    double count = last - first_tick(axis) + 1.0;

    return count > 0.0 ? (unsigned int)count : 0;
}

double gw_axis_tick(const struct gw_axis *axis, unsigned int tick)
{
    double number = first_tick(axis) + tick;

    if (!axis->logarithmic)
        return number * axis->step;
    return axis->fine ? mantissas[tick % 3] * pow(axis->step, floor(number / 3.0)) : pow(axis->step, number);
}

void gw_axis_label(const struct gw_axis *axis, double value, char text[GW_UNIT_TEXT])
{
    int digits;

    switch (axis->unit) {
    case GW_AXIS_DURATION:
        if (axis->logarithmic)
            gw_format_power(value, GW_POWER_TIME, text);
        else
            gw_format_tick(value, axis->step, text);
        return;
    case GW_AXIS_BYTES:
        gw_format_bytes(value, text);
        return;
    case GW_AXIS_RATE:
        if (axis->logarithmic)
            gw_format_power(value, GW_POWER_RATE, text);
        else
            gw_format_rate(value, text);
        return;
    case GW_AXIS_PERCENT:
        digits = axis->step >= 1.0 ? 0 : (int)ceil(-log10(axis->step) - TINY);
        snprintf(text, GW_UNIT_TEXT, "%.*f %%", digits, value);
        return;
    case GW_AXIS_FACTOR:
        snprintf(text, GW_UNIT_TEXT, "%g ×", value);
        return;
    case GW_AXIS_NUMBER:
        snprintf(text, GW_UNIT_TEXT, "%.0f", value);
        return;
    }
}

/* Where a value lies between the ends of an axis, 0…1. */
static double place(const struct gw_axis *axis, double value)
{
    if (!axis->logarithmic)
        return (value - axis->low) / (axis->high - axis->low);
    return value > 0.0 ? log(value / axis->low) / log(axis->high / axis->low) : 0.0;
}

double gw_chart_x(const struct gw_chart *chart, double value)
{
    return chart->x + place(&chart->across, value) * chart->w;
}

double gw_chart_y(const struct gw_chart *chart, double value)
{
    return chart->y + (1.0 - place(&chart->up, value)) * chart->h;
}

void gw_chart_draw_up(struct gw_page *page, const struct gw_chart *chart, double label_width)
{
    unsigned int ticks = gw_axis_ticks(&chart->up);
    char text[GW_UNIT_TEXT];

    for (unsigned int i = 0; i < ticks; i++) {
        double value = gw_axis_tick(&chart->up, i), y = gw_chart_y(chart, value);
        gw_scene_line(page->scene, chart->x, y, chart->x + chart->w, y, 1.0, page->theme->grid);
        gw_axis_label(&chart->up, value, text);
        gw_page_muted(page, chart->x - label_width, y - LABEL_HEIGHT / 2.0, label_width - LABEL_GAP, LABEL_HEIGHT,
                      GW_SIZE_SMALL, GW_ALIGN_RIGHT, text);
    }
}

void gw_chart_draw_across(struct gw_page *page, const struct gw_chart *chart, const char *caption)
{
    unsigned int ticks = gw_axis_ticks(&chart->across);
    double bottom = chart->y + chart->h, free_x = 0.0, most_x = page->options->width - 2.0;
    char text[GW_UNIT_TEXT];

    for (unsigned int i = 0; i < ticks; i++) {
        double value = gw_axis_tick(&chart->across, i), x = gw_chart_x(chart, value), w, left;
        gw_scene_line(page->scene, x, chart->y, x, bottom, 1.0, page->theme->grid);
        gw_axis_label(&chart->across, value, text);
        w = ceil(gw_page_text_width(page, text, GW_SIZE_SMALL, false));
        left = fmin(x - w / 2.0, most_x - w);
        if (left < free_x)
            continue;
        free_x = left + w + LABEL_GAP;
        gw_page_muted(page, left, bottom + 4.0, w, LABEL_HEIGHT, GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
    }
    gw_page_muted(page, chart->x, bottom + 23.0, chart->w, LABEL_HEIGHT, GW_SIZE_SMALL, GW_ALIGN_CENTRE, caption);
}
