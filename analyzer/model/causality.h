/* Whether the times of operations agree with what the host did: a check of the clocks. */
#ifndef GW_ANALYZER_MODEL_CAUSALITY_H
#define GW_ANALYZER_MODEL_CAUSALITY_H

#include <stdint.h>

#include "analyzer/model/model.h"

struct gw_causality {
    uint64_t checked;       /* operations with times whose call is known */
    uint64_t before_launch; /* begin before their call did */
    uint64_t overlapping;   /* begin before an earlier operation of their stream ended */
    uint64_t after_wait;    /* synchronisations that returned before what they waited for ended */
    uint64_t clock_off_ns;  /* by how much more than stated the times must be off, at least; 0: all agree */
};

/* Checks all operations of the model against their stated errors. Operations of one graph replay may overlap. Calls of
 * several threads that overlap leave the order of their operations open, and are not compared; nor are waits for a
 * whole device in a process that uses several. */
void gw_model_check_causality(const struct gw_model *model, struct gw_causality *ret_causality);

#endif
