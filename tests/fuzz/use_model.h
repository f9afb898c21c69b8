/* What must hold of every model that an import made; shared by its fuzzers. */
#ifndef GW_TESTS_FUZZ_USE_MODEL_H
#define GW_TESTS_FUZZ_USE_MODEL_H

#include "analyzer/model/model.h"

/* Finds steps in the model and computes their budget; aborts, also in builds without assertions, when calls are not in
 * order of time or the classes of a step do not sum to it. */
void gw_fuzz_use_model(struct gw_model *model);

#endif
