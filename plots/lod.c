#include "plots/lod.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What is added up in one pixel. The key is a majority vote weighted by time (Boyer and Moore). */
struct pixel {
    uint64_t covered_ns, vote_ns;
    uint32_t key;
};

double gw_scale_x(const struct gw_scale *scale, uint64_t ns)
{
    double length = (double)(scale->end_ns - scale->begin_ns);
    double offset = ns >= scale->begin_ns ? (double)(ns - scale->begin_ns) : -(double)(scale->begin_ns - ns);

    return scale->x + offset / length * scale->width;
}

static void vote(struct pixel *pixel, uint32_t key, uint64_t ns)
{
    pixel->covered_ns += ns;
    if (pixel->key == key) {
        pixel->vote_ns += ns;
    } else if (pixel->vote_ns >= ns) {
        pixel->vote_ns -= ns;
    } else {
        pixel->key = key;
        pixel->vote_ns = ns - pixel->vote_ns;
    }
}

/* First nanosecond of a pixel; integer, so that the parts of a span add up to the span. */
static uint64_t pixel_begin(const struct gw_scale *scale, size_t pixel, size_t pixels)
{
    __extension__ unsigned __int128 length = scale->end_ns - scale->begin_ns;

    return scale->begin_ns + (uint64_t)(length * pixel / pixels);
}

static void spread(const struct gw_scale *scale, struct pixel *pixels, size_t count, uint64_t begin_ns, uint64_t end_ns,
                   uint32_t key)
{
    double length = (double)(scale->end_ns - scale->begin_ns);
    size_t at = (size_t)((double)(begin_ns - scale->begin_ns) / length * (double)count);

    if (at >= count)
        at = count - 1;
    while (at > 0 && pixel_begin(scale, at, count) > begin_ns)
        at--;
    while (at + 1 < count && pixel_begin(scale, at + 1, count) <= begin_ns)
        at++;
    while (begin_ns < end_ns) {
        uint64_t limit_ns = at + 1 < count ? pixel_begin(scale, at + 1, count) : scale->end_ns;
        uint64_t stop_ns = end_ns < limit_ns ? end_ns : limit_ns;
        vote(&pixels[at], key, stop_ns - begin_ns);
        begin_ns = stop_ns;
        at++;
    }
}

int gw_lod_bars(const struct gw_scale *scale, const struct gw_span *spans, size_t count, struct gw_bar **ret_bars,
                size_t *ret_count)
{
    size_t pixels_count = (size_t)fmax(1.0, floor(scale->width)), bars_count = 0, capacity = 0, own = 0;
    double ns_per_px = (double)(scale->end_ns - scale->begin_ns) / scale->width;
    double pixel_width = scale->width / (double)pixels_count;
    struct pixel *pixels = calloc(pixels_count, sizeof(*pixels));
    struct gw_bar *bars = NULL;

    if (!pixels)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin_ns = spans[i].begin_ns > scale->begin_ns ? spans[i].begin_ns : scale->begin_ns;
        uint64_t end_ns = spans[i].end_ns < scale->end_ns ? spans[i].end_ns : scale->end_ns;
        if (begin_ns >= end_ns)
            continue;
        if ((double)(end_ns - begin_ns) < GW_LOD_LEAST_PX * ns_per_px)
            spread(scale, pixels, pixels_count, begin_ns, end_ns, spans[i].key);
        else
            own++;
    }
    capacity = own;
    for (size_t i = 0; i < pixels_count; i++)
        capacity += pixels[i].covered_ns > 0;
    bars = malloc((capacity ? capacity : 1) * sizeof(*bars));
    if (!bars) {
        free(pixels);
        return -ENOMEM;
    }
    for (size_t i = 0; i < pixels_count; i++) {
        if (pixels[i].covered_ns == 0)
            continue;
        bars[bars_count++] =
            (struct gw_bar){.x = scale->x + (double)i * pixel_width,
                            .w = pixel_width,
                            .fraction = fmin(1.0, (double)pixels[i].covered_ns / (ns_per_px * pixel_width)),
                            .covered_ns = pixels[i].covered_ns,
                            .key = pixels[i].key,
                            .ref = GW_LOD_AGGREGATE};
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t begin_ns = spans[i].begin_ns > scale->begin_ns ? spans[i].begin_ns : scale->begin_ns;
        uint64_t end_ns = spans[i].end_ns < scale->end_ns ? spans[i].end_ns : scale->end_ns;
        if (begin_ns >= end_ns || (double)(end_ns - begin_ns) < GW_LOD_LEAST_PX * ns_per_px)
            continue;
        bars[bars_count++] = (struct gw_bar){.x = gw_scale_x(scale, begin_ns),
                                             .w = (double)(end_ns - begin_ns) / ns_per_px,
                                             .fraction = 1.0,
                                             .covered_ns = end_ns - begin_ns,
                                             .key = spans[i].key,
                                             .ref = spans[i].ref};
    }
    free(pixels);
    *ret_bars = bars;
    *ret_count = bars_count;
    return 0;
}
