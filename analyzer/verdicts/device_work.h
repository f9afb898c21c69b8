/*
 * How long the work of a step keeps each device busy, and the same run with that work spread otherwise.
 */
#ifndef GW_ANALYZER_VERDICTS_DEVICE_WORK_H
#define GW_ANALYZER_VERDICTS_DEVICE_WORK_H

#include "analyzer/verdicts/comm.h"

/* Of a step. A device works when it is busy for some share of what the busiest is; the others count in nothing. */
struct gw_device_work {
    double *busy_ns;                            /* by device */
    double least_ns;                            /* from here on a device works; above 0 */
    double sum_ns, mean_ns, median_ns, most_ns; /* the lower of two medians; all 0 when none works */
    size_t used;                                /* devices that work */
    uint32_t busiest;                           /* or GW_NONE */
};

/* communicates: collectives and messages are work too. The caller releases. Returns 0 or -ENOMEM. */
int gw_device_work_create(const struct gw_judge *judge, bool communicates, struct gw_device_work *ret_work);
void gw_device_work_release(struct gw_device_work *work);

bool gw_device_works(const struct gw_device_work *work, uint32_t device);

/* Both change how long the operations of working devices take; communication takes what it takes. They need the replay
 * and return 0 or -ENOMEM. scale: each so many times as long, all analysed ones being occurrences. balance: the work of
 * each device as long as the mean, those of the busiest being occurrences. */
int gw_device_work_scale(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_device_work *work,
                         double factor);
int gw_device_work_balance(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_device_work *work);

#endif
