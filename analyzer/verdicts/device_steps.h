/*
 * Steps as the devices see them: from when what was enqueued before a step is done to when what was enqueued in it is.
 * A host that runs ahead makes its own steps in bursts, long and short, that cost nothing.
 */
#ifndef GW_ANALYZER_VERDICTS_DEVICE_STEPS_H
#define GW_ANALYZER_VERDICTS_DEVICE_STEPS_H

#include "analyzer/model/model.h"

/* Stores the length of each step of the model in ret_ns: on the devices of the lane it was found in, and from the
 * host's begin where the devices had nothing left to do by then. Operations without times count for nothing. */
void gw_device_steps(const struct gw_model *model, uint64_t *ret_ns);

#endif
