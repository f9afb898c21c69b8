/*
 * What stands in a bar of the timeline.
 */
#ifndef GW_PLOTS_TIMELINE_LABELS_H
#define GW_PLOTS_TIMELINE_LABELS_H

#include "plots/timeline_data.h"

#define GW_BAR_LABELS_MAX 3

/* Labels of a bar, the most telling first. */
struct gw_bar_labels {
    char text[GW_BAR_LABELS_MAX][160];
    int count;
    double least_px; /* the last one may be cut down to this */
};

/* Fills *labels for a bar of its own (not an aggregate) of a row; none for gaps, which have two lines. */
void gw_timeline_label(const struct gw_model *model, const struct gw_timeline_data *data,
                       const struct gw_timeline_row *row, const struct gw_bar *bar, struct gw_bar_labels *labels);

#endif
