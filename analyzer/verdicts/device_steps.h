/*
 * Steps as the devices see them: from when what was enqueued before a step is done to when what was enqueued in it is.
 * A host that runs ahead makes its own steps in bursts, long and short, that cost nothing.
 */
#ifndef GW_ANALYZER_VERDICTS_DEVICE_STEPS_H
#define GW_ANALYZER_VERDICTS_DEVICE_STEPS_H

#include "analyzer/verdicts/budget.h"

/* Stores each step of the model in ret_steps as the devices of the lane see it in which it was found; it begins with
 * the host's where they had nothing left to do by then. Operations without times count for nothing. */
void gw_device_steps(const struct gw_model *model, struct gw_interval *ret_steps);

/* Stores in ret_times what is taken for the time of each step: the host's, or, in a process that enqueues its steps in
 * less than 99 % of the time that its devices need for them, the devices'. */
void gw_step_times(const struct gw_model *model, struct gw_interval *ret_times);

/* The first step of the process whose time ends after t_ns; when there is none, the first of the next process. */
size_t gw_step_time_after(const struct gw_model *model, const struct gw_interval *times, uint32_t process,
                          uint64_t t_ns);

#endif
