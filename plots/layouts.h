/*
 * The layout functions of the table of plots, one a file.
 */
#ifndef GW_PLOTS_LAYOUTS_H
#define GW_PLOTS_LAYOUTS_H

#include "plots/page.h"

void gw_layout_timeline(struct gw_page *page);
void gw_layout_budget(struct gw_page *page);
void gw_layout_overview(struct gw_page *page);
void gw_layout_gaps(struct gw_page *page);
void gw_layout_kernels(struct gw_page *page);
void gw_layout_copies(struct gw_page *page);
void gw_layout_comm(struct gw_page *page);
void gw_layout_ranks(struct gw_page *page);
void gw_layout_memory(struct gw_page *page);
void gw_layout_diff(struct gw_page *page);
void gw_layout_scaling(struct gw_page *page);

#endif
