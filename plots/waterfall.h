/*
 * A waterfall: from one amount to another by what is added and taken away, one line each.
 */
#ifndef GW_PLOTS_WATERFALL_H
#define GW_PLOTS_WATERFALL_H

#include "plots/page.h"

struct gw_waterfall_step {
    const char *name;  /* borrowed */
    uint32_t colour;   /* of its swatch; 0: none */
    double ns;         /* added, below 0 taken away */
    const char *words; /* beside the amount, borrowed; NULL: none */
    bool uncertain;    /* drawn hatched */
};

struct gw_waterfall {
    const char *from_name, *to_name;
    double from_ns, to_ns; /* to = from + the steps */
    const struct gw_waterfall_step *steps;
    size_t count;
};

/* Draws it from y down over the page's width. Returns the y below. */
double gw_waterfall_draw(struct gw_page *page, const struct gw_waterfall *waterfall, double y);

#endif
