/*
 * The budget as plots show it: a mean over devices for each step number, and the median step of its process. Where
 * several programs ran, that of the median step is shown; means over unlike programs would say nothing.
 */
#ifndef GW_PLOTS_BUDGET_DATA_H
#define GW_PLOTS_BUDGET_DATA_H

#include "plots/plots.h"

struct gw_budget_row {
    double ns[GW_CLASS_COUNT];
    double total_ns;
    bool warmup;
};

struct gw_budget_data {
    struct gw_budget_row *rows; /* by step number, mean over processes and devices */
    size_t rows_count;
    struct gw_budget_row median; /* mean over the devices of its process, as in the report */
    struct gw_budget_row mean;   /* of the steps after warm-up; zero when there are none */
    uint32_t median_number;      /* GW_NONE: no median */
    bool used[GW_CLASS_COUNT];
    uint32_t devices;         /* that took part */
    uint32_t other_processes; /* of other programs, with steps of their own: left out */
};

/* Fills *data; release it with gw_budget_data_clear in any case. Returns 0 or -ENOMEM. No rows without cells. */
int gw_budget_data_create(const struct gw_plot_source *source, struct gw_budget_data *data);
void gw_budget_data_clear(struct gw_budget_data *data);

#endif
