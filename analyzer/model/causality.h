/* Whether the times of operations agree with what the host did: a check of the clocks. */
#ifndef GW_ANALYZER_MODEL_CAUSALITY_H
#define GW_ANALYZER_MODEL_CAUSALITY_H

#include <stdint.h>

#include "analyzer/model/model.h"

/* Checks all operations of the model against their stated errors. Operations of one graph replay may overlap. Calls of
 * several threads that overlap leave the order of their operations open, and are not compared; nor are waits for a
 * whole device in a process that uses several. */
void gw_model_check_causality(const struct gw_model *model, struct gw_causality *ret_causality);

#endif
