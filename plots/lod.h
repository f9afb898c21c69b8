/*
 * Level of detail: what is wide enough to be seen is a bar of its own; everything narrower is added up pixel by pixel,
 * so that a row of a million operations costs as much to draw as one of a thousand and no time is lost or invented.
 */
#ifndef GW_PLOTS_LOD_H
#define GW_PLOTS_LOD_H

#include <stddef.h>
#include <stdint.h>

struct gw_span {
    uint64_t begin_ns, end_ns;
    uint32_t key; /* what it is painted as; equal keys may be merged */
    uint32_t ref; /* what it stands for; the caller's */
};

/* A window of time on pixels. */
struct gw_scale {
    uint64_t begin_ns, end_ns;
    double x, width;
};

struct gw_bar {
    double x, w;
    double fraction;     /* of w × time that is covered: 1 for a bar of its own */
    uint64_t covered_ns; /* exactly, within the window */
    uint32_t key;        /* aggregates: the key with most time in its pixels */
    uint32_t ref;        /* GW_LOD_AGGREGATE for aggregates */
};

#define GW_LOD_AGGREGATE UINT32_MAX
#define GW_LOD_LEAST_PX 1.5 /* narrower spans are added up */

/* Pixel position of a time; times outside the window land outside [x, x + width]. */
double gw_scale_x(const struct gw_scale *scale, uint64_t ns);

/* Stores the bars of spans (any order) that touch the window in *ret_bars (free()) and their number: aggregates first,
 * by pixel, then bars of their own in the order of spans. Returns 0 or -ENOMEM. */
int gw_lod_bars(const struct gw_scale *scale, const struct gw_span *spans, size_t count, struct gw_bar **ret_bars,
                size_t *ret_count);

#endif
