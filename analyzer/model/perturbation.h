/* What the recording cost the run it recorded. */
#ifndef GW_ANALYZER_MODEL_PERTURBATION_H
#define GW_ANALYZER_MODEL_PERTURBATION_H

#include "analyzer/model/model.h"

/* Fills model->perturbation from the calls, the sampled cost of a call, and, where the GPU's times were taken in
 * windows, from the steps with and without them; then leaves out steps that were not timed throughout. Steps must have
 * been found. Returns 0 or -ENOMEM. */
int gw_measure_perturbation(struct gw_model *model);

/* Whether it may be more: the GPU was timed throughout, and what that costs within the driver and on the device cannot
 * be told from such a run. */
bool gw_perturbation_is_least(const struct gw_model *model);

#endif
