/*
 * Charts: an area whose sides are axes, values to pixels, ticks at round values. Ticks are counted, so that rounding
 * never loses the last one.
 */
#ifndef GW_PLOTS_CHART_H
#define GW_PLOTS_CHART_H

#include "plots/page.h"

enum gw_axis_unit {
    GW_AXIS_DURATION, /* ns */
    GW_AXIS_BYTES,
    GW_AXIS_RATE,    /* bytes per ns */
    GW_AXIS_PERCENT, /* 100 is all of it */
    GW_AXIS_FACTOR,  /* "1.5 ×" */
    GW_AXIS_NUMBER   /* whole numbers */
};

struct gw_axis {
    enum gw_axis_unit unit;
    bool logarithmic, fine; /* fine: of a logarithmic axis, ticks at 2 and 5 times the powers of ten too */
    double low, high;       /* values at the ends; logarithmic: both above 0 */
    double step;            /* linear: between ticks; logarithmic: factor from one tick to the next */
};

struct gw_chart {
    double x, y, w, h; /* top left corner and size in pixels */
    struct gw_axis across, up;
};

/* From low to high (above low) with at most max_ticks parts between round ticks. */
struct gw_axis gw_axis_linear(enum gw_axis_unit unit, double low, double high, unsigned int max_ticks);

/* The high end raised to the next tick, so that the axis ends with a label. */
struct gw_axis gw_axis_rounded(struct gw_axis axis);

/* Round ends around least…most (both above 0), with ticks that suit how far they are apart. */
struct gw_axis gw_axis_logarithmic(enum gw_axis_unit unit, double least, double most);

/* Number of ticks within the axis, and the value of each of them. */
unsigned int gw_axis_ticks(const struct gw_axis *axis);
double gw_axis_tick(const struct gw_axis *axis, unsigned int tick);

/* What stands at a tick; all ticks of a linear axis share unit and digits. */
void gw_axis_label(const struct gw_axis *axis, double value, char text[GW_UNIT_TEXT]);

/* Pixel position of a value; values outside an axis land outside the area, those a logarithm has none of at its low
 * end. */
double gw_chart_x(const struct gw_chart *chart, double value);
double gw_chart_y(const struct gw_chart *chart, double value);

/* Grid lines and labels: the first to the left of the area in label_width pixels, the second below the area with the
 * caption under them; the whole takes GW_CHART_BELOW pixels below the area. */
#define GW_CHART_BELOW 44.0
void gw_chart_draw_up(struct gw_page *page, const struct gw_chart *chart, double label_width);
void gw_chart_draw_across(struct gw_page *page, const struct gw_chart *chart, const char *caption);

#endif
