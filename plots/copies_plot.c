/*
 * copies: every copy as a dot, its size against its rate. Copies from pageable memory lie below those of the same size
 * from page-locked memory.
 */
#include "plots/layouts.h"

#include <math.h>
#include <stdio.h>

#define DOTS_MAX 20000u
#define CHART_HEIGHT 470.0
#define AXIS_WIDTH 80.0

enum group { H2D_PAGEABLE, H2D_PINNED, D2H_PAGEABLE, D2H_PINNED, ON_DEVICE, BETWEEN, GROUPS };

static const struct {
    uint32_t colour;
    const char *words;
} groups[GROUPS] = {
    [H2D_PAGEABLE] = {0xe9775cff, "to device from pageable memory"},
    [H2D_PINNED] = {0x1f9e8fff, "to device from page-locked memory"},
    [D2H_PAGEABLE] = {0xb0475fff, "to host into pageable memory"},
    [D2H_PINNED] = {0x2f6fb0ff, "to host into page-locked memory"},
    [ON_DEVICE] = {0x8a93a1ff, "on one device"},
    [BETWEEN] = {0x9364b5ff, "between devices"},
};

struct area {
    double x, y, w, h;
    double size_low, size_high, rate_low, rate_high; /* log10 */
};

static bool pinned(uint8_t host_kind)
{
    return host_kind == GW_HOST_PINNED || host_kind == GW_HOST_MANAGED;
}

/* Which group a copy belongs to; GROUPS for what is no copy, or has no time or no size. */
static enum group group_of(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = op->call < model->calls_count ? &model->calls[op->call] : NULL;
    const struct gw_copy *copy = call && call->detail_kind == GW_DETAIL_COPY && call->detail < model->copies_count
                                     ? &model->copies[call->detail]
                                     : NULL;

    if (op->flags & GW_OP_UNTIMED || op->size_bytes == 0 || op->end_ns <= op->start_ns)
        return GROUPS;
    switch (op->kind) {
    case GW_OP_H2D:
        return copy && pinned(copy->src_kind) ? H2D_PINNED : H2D_PAGEABLE;
    case GW_OP_D2H:
        return copy && pinned(copy->dst_kind) ? D2H_PINNED : D2H_PAGEABLE;
    case GW_OP_D2D:
        return ON_DEVICE;
    case GW_OP_P2P:
        return BETWEEN;
    default:
        return GROUPS;
    }
}

static double rate_of(const struct gw_op *op)
{
    return (double)op->size_bytes / (double)(op->end_ns - op->start_ns);
}

struct group_sum {
    size_t count;
    double bytes, ns;
};

static size_t measure(const struct gw_model *model, struct area *area, struct group_sum *sums)
{
    size_t count = 0;

    area->size_low = area->rate_low = INFINITY;
    area->size_high = area->rate_high = -INFINITY;
    for (size_t i = 0; i < model->ops_count; i++) {
        enum group group = group_of(model, &model->ops[i]);
        double size, rate;
        if (group == GROUPS)
            continue;
        size = log10((double)model->ops[i].size_bytes);
        rate = log10(rate_of(&model->ops[i]));
        area->size_low = fmin(area->size_low, size);
        area->size_high = fmax(area->size_high, size);
        area->rate_low = fmin(area->rate_low, rate);
        area->rate_high = fmax(area->rate_high, rate);
        sums[group].count++;
        sums[group].bytes += (double)model->ops[i].size_bytes;
        sums[group].ns += (double)(model->ops[i].end_ns - model->ops[i].start_ns);
        count++;
    }
    area->size_low = floor(area->size_low - 0.15);
    area->size_high = ceil(area->size_high + 0.15);
    area->rate_low = floor(area->rate_low - 0.1);
    area->rate_high = ceil(area->rate_high + 0.1);
    return count;
}

static void draw_axes(struct gw_page *page, const struct area *area)
{
    char text[GW_UNIT_TEXT];

    for (double rate = area->rate_low; rate <= area->rate_high; rate += 1.0) {
        double y = area->y + area->h - (rate - area->rate_low) / (area->rate_high - area->rate_low) * area->h;
        gw_scene_line(page->scene, area->x, y, area->x + area->w, y, 1.0, page->theme->grid);
        /* Whole powers of ten: no decimals. */
        if (rate < -3.0)
            snprintf(text, sizeof(text), "%g kB/s", pow(10.0, rate + 6.0));
        else if (rate < 0.0)
            snprintf(text, sizeof(text), "%g MB/s", pow(10.0, rate + 3.0));
        else
            snprintf(text, sizeof(text), "%g GB/s", pow(10.0, rate));
        gw_page_muted(page, GW_PAGE_MARGIN, y - 9.0, AXIS_WIDTH - 10.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_RIGHT, text);
    }
    /* Powers of two near the powers of ten, as sizes of tensors are. */
    for (double exponent = ceil(area->size_low / log10(2.0)); exponent * log10(2.0) <= area->size_high;
         exponent += 1.0) {
        double x = area->x + (exponent * log10(2.0) - area->size_low) / (area->size_high - area->size_low) * area->w;
        if (fmod(exponent, 4.0) != 0.0)
            continue;
        gw_scene_line(page->scene, x, area->y, x, area->y + area->h, 1.0, page->theme->grid);
        gw_format_bytes(exp2(exponent), text);
        gw_page_muted(page, x - 40.0, area->y + area->h + 4.0, 80.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
    }
    gw_page_muted(page, area->x, area->y + area->h + 23.0, area->w, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE,
                  "size of the copy (its rate upwards; both logarithmic)");
}

void gw_layout_copies(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct area area = {.x = GW_PAGE_MARGIN + AXIS_WIDTH, .h = CHART_HEIGHT};
    struct group_sum sums[GROUPS] = {{0}};
    size_t total = measure(model, &area, sums), every = total / DOTS_MAX + 1, at = 0, used = 0;
    struct gw_legend_entry entries[GROUPS];
    char labels[GROUPS][160], count[GW_UNIT_TEXT], bytes[GW_UNIT_TEXT], rate_text[GW_UNIT_TEXT], note[96] = "";
    double y = gw_page_title(page, "size and rate of every copy");

    if (total == 0) {
        y = gw_page_empty(page, y, "No copy with known times was recorded in this run.");
        gw_page_finish(page, y, NULL);
        return;
    }
    area.y = y + 8.0;
    area.w = page->options->width - GW_PAGE_MARGIN - area.x - 8.0;
    draw_axes(page, &area);
    for (size_t i = 0; i < model->ops_count; i++) {
        enum group group = group_of(model, &model->ops[i]);
        double size, rate;
        if (group == GROUPS || at++ % every)
            continue;
        size = (log10((double)model->ops[i].size_bytes) - area.size_low) / (area.size_high - area.size_low);
        rate = (log10(rate_of(&model->ops[i])) - area.rate_low) / (area.rate_high - area.rate_low);
        gw_scene_circle(page->scene, area.x + size * area.w, area.y + area.h - rate * area.h, 4.0,
                        gw_colour_faded(groups[group].colour, 0.55));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        if (sums[i].count == 0)
            continue;
        gw_format_count(sums[i].count, count);
        gw_format_bytes(sums[i].bytes, bytes);
        gw_format_rate(sums[i].bytes / sums[i].ns, rate_text);
        snprintf(labels[i], sizeof(labels[i]), "%s: %s copies, %s at %s", groups[i].words, count, bytes, rate_text);
        entries[used++] = (struct gw_legend_entry){groups[i].colour, labels[i], false};
    }
    y = gw_page_legend(page, GW_PAGE_MARGIN, area.y + area.h + 50.0, page->options->width - 2.0 * GW_PAGE_MARGIN,
                       "copies", entries, used);
    if (every > 1)
        snprintf(note, sizeof(note), "a dot for every %zu copies", every);
    gw_page_finish(page, y, note);
}
