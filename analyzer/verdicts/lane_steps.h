/*
 * Steps as each lane of a process makes them. The steps of a process are those of one of its lanes; ranks that are
 * threads beside it make the same steps some time before or after. What ties them together are the exchanges: as many
 * operations after the same collective, the same step begins.
 *
 * Memory: 16 bytes a step and lane, of processes with several lanes only.
 */
#ifndef GW_ANALYZER_VERDICTS_LANE_STEPS_H
#define GW_ANALYZER_VERDICTS_LANE_STEPS_H

#include "analyzer/verdicts/budget.h"

struct gw_lane_steps {
    const struct gw_model *model;
    uint32_t *first;                 /* by process: its lanes lie from there on in times; one more at the end */
    struct gw_interval **times;      /* by lane: its time of each step of its process, from the process's first on; NULL
                                        where      they are the process's, as far as can be told */
    uint32_t *step_first, *step_end; /* by process: its steps in the model are [step_first, step_end) */
};

/* Compares the lanes of each process. Returns 0 or -ENOMEM; release it in both cases. */
int gw_lane_steps_init(struct gw_lane_steps *ret_steps, const struct gw_model *model);
void gw_lane_steps_release(struct gw_lane_steps *steps);

/* When a lane of the process makes the step, as an index into the model. */
struct gw_interval gw_lane_step_time(const struct gw_lane_steps *steps, uint32_t process, uint32_t lane, uint32_t step);

/* The step in which t_ns lies on a lane of the process, or GW_NONE. */
uint32_t gw_lane_step_at(const struct gw_lane_steps *steps, uint32_t process, uint32_t lane, uint64_t t_ns);

/* Whether a step is no warm-up and lies within the window. */
static inline bool gw_is_analysed_within(const struct gw_step *step, struct gw_interval window)
{
    return !step->warmup && step->begin_ns >= window.begin_ns && step->end_ns <= window.end_ns;
}

/* When each lane, of all processes in turn, makes the analysed steps that lie within the window; the window itself
 * where its steps are the process's. */
void gw_lane_windows(const struct gw_lane_steps *steps, struct gw_interval window, struct gw_interval *ret_windows);

/* The lane of its process in whose sequence a step was found. */
uint32_t gw_lane_of_step(const struct gw_model *model, const struct gw_step *step);

#endif
