/* The second half of an assembly: what needs all of a trace at once. Internal to analyzer/model/import. */
#ifndef GW_ANALYZER_MODEL_IMPORT_TIE_H
#define GW_ANALYZER_MODEL_IMPORT_TIE_H

#include "analyzer/model/import/assembly.h"

/* Orders the calls, finds the driver calls nested in runtime calls, and lists the calls of each thread. */
int gw_tie_calls(struct gw_assembly *assembly);

/* Makes the model's operations in order of enqueue, each tied to its call, and gives launches, copies and memsets their
 * details. *ret_untied: how many operations have no call in the trace. */
int gw_tie_ops(struct gw_assembly *assembly, size_t *ret_untied);

/* Sets the first and last time of the run and of each process, and orders the ranges. */
int gw_tie_extent(struct gw_assembly *assembly);

#endif
