/*
 * Which threads of a process may wake each other, as far as their calls tell: the trace has no record of it.
 *
 * Memory: a byte a thread.
 */
#ifndef GW_ANALYZER_VERDICTS_WAKERS_H
#define GW_ANALYZER_VERDICTS_WAKERS_H

#include "analyzer/verdicts/lane_steps.h"

struct gw_wakers {
    const struct gw_model *model;
    const struct gw_lane_steps *steps;
    bool *onlookers; /* by thread */
};

/* Both must outlive it. Returns 0 or -ENOMEM; release it in both cases. */
int gw_wakers_init(struct gw_wakers *ret_wakers, const struct gw_model *model, const struct gw_lane_steps *steps);
void gw_wakers_release(struct gw_wakers *wakers);

/* Whether thread may sleep until `by` has done something. */
bool gw_may_wake(const struct gw_wakers *wakers, uint32_t thread, uint32_t by);

#endif
