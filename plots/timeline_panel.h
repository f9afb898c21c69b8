/*
 * The timeline as a panel that other plots can use: step marks, a row for each thread, stream and device's gaps, axis.
 */
#ifndef GW_PLOTS_TIMELINE_PANEL_H
#define GW_PLOTS_TIMELINE_PANEL_H

#include "plots/page.h"
#include "plots/timeline_data.h"

/* Lays the panel out over the width of the page from y down. Returns the y below it. */
double gw_timeline_panel(struct gw_page *page, const struct gw_timeline_data *data, double y);

/* The legend of what the panel shows, and nothing else. Returns the y below it. */
double gw_timeline_legend(struct gw_page *page, const struct gw_timeline_data *data, double y);

#endif
