/* What must hold of every model, whatever it was made of; shared by the fuzzers. */
#ifndef GW_TESTS_FUZZ_USE_MODEL_H
#define GW_TESTS_FUZZ_USE_MODEL_H

#include "analyzer/model/model.h"

/* Finds steps in the model, if that was not done, computes their budget and judges them; aborts, also in builds without
 * assertions, when calls are not in order of time, the classes of a step do not sum to it, or a verdict gives no
 * reason.
 */
void gw_fuzz_use_model(struct gw_model *model);

#endif
