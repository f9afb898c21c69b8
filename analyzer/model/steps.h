/* Finding the steps of a run. Internal to analyzer/model; the results are gw_model.steps, steps_method,
 * steps_confidence. */
#ifndef GW_ANALYZER_MODEL_STEPS_H
#define GW_ANALYZER_MODEL_STEPS_H

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

/* Finds the steps of each process in the sequence of its operations. Returns 0, also when there are none, or -ENOMEM.
 */
int gw_steps_by_sequence(struct gw_model *model);

/* A step begins with every `every`-th range of the program's (NVTX) whose name matches the extended regular expression,
 * or, in a process without such ranges, with every such kernel by its demangled name; 0 means 1. Returns 0, -EINVAL
 * with *error filled when the expression is none or nothing matches it, or -ENOMEM. */
int gw_steps_by_name(struct gw_model *model, const char *regex, uint32_t every, struct gw_error *error);

/* A step as a range of a process's sequence. */
struct gw_step_range {
    size_t first, count; /* events */
    bool open;           /* ends with its own last event, not with the begin of the next range */
};

struct gw_sequence;
struct gw_found_steps;

/* Says in model->steps_other what the other reading of a process's steps is, and which kernel cuts the run so. Returns
 * 0 or -ENOMEM. */
int gw_steps_name_other(struct gw_model *model, const struct gw_sequence *sequence, const struct gw_found_steps *found);

/* Moves the begins of steps back over waits for events that had come, which read timers and are no work of the step
 * before, where nearly all steps have them between its last operation and their first. */
void gw_steps_begin_with_reads(const struct gw_model *model, const struct gw_sequence *sequence,
                               struct gw_step_range *ranges, size_t count);

#endif
