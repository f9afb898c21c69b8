/*
 * The same kernels under two conditions: beside something else on the device, and alone.
 */
#ifndef GW_ANALYZER_VERDICTS_KERNEL_TIMES_H
#define GW_ANALYZER_VERDICTS_KERNEL_TIMES_H

#include "analyzer/verdicts/comm.h"
#include "analyzer/verdicts/intervals.h"

/* What may run beside the kernels of a device: sorted disjoint intervals. */
struct gw_beside {
    struct gw_interval *list;
    size_t count;
};

struct gw_kernel_times {
    double compared;  /* kernels beside it whose like also run alone */
    double slower_ns; /* by how much those that are slower are so, in all */
};

/* Compares the kernels of the analysed steps: those of one name and shape of which some ran beside intervals of
 * beside[their device], and others without. Where the times alone agree, and most of those beside are longer, the
 * longer ones are marked in the plan and take as long as alone. Returns 0 or -ENOMEM. */
int gw_kernel_times_compare(const struct gw_judge *judge, const struct gw_beside *beside, struct gw_comm_plan *plan,
                            struct gw_kernel_times *ret_times);

/* Intervals for each device, all empty; the caller fills and releases them. NULL: no memory. */
struct gw_beside *gw_beside_create(const struct gw_judge *judge);
void gw_beside_destroy(struct gw_beside *beside, const struct gw_judge *judge);

#endif
