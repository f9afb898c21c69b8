/*
 * How late each rank comes to its collectives, step by step.
 */
#ifndef GW_PLOTS_RANKS_DATA_H
#define GW_PLOTS_RANKS_DATA_H

#include "plots/plots.h"

struct gw_rank_row {
    uint32_t device;
    int32_t rank;               /* in the largest communicator */
    double late_ns, last_share; /* mean a step; share of the exchanges to which it came last */
};

struct gw_ranks_data {
    struct gw_rank_row *rows; /* by rank */
    size_t rows_count;
    size_t steps; /* columns: step numbers from 0, or one column without steps */
    bool by_step;
    float *late_ns;      /* rows × steps: behind the first rank of each exchange, summed over the step; NAN: none */
    bool *warmup;        /* by step */
    size_t exchanges;    /* that were compared */
    double most_late_ns; /* of a cell after warm-up */
};

/* Fills *data; release it with gw_ranks_data_clear in any case. Returns 0 or -ENOMEM. No rows without exchanges of
 * several ranks with known times. */
int gw_ranks_data_create(const struct gw_model *model, struct gw_ranks_data *data);
void gw_ranks_data_clear(struct gw_ranks_data *data);

#endif
