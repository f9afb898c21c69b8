/*
 * Which of the analysed steps are much slower than the usual one: the hiccups' own, or what other verdicts have to
 * leave to them.
 */
#ifndef GW_ANALYZER_VERDICTS_SLOW_STEPS_H
#define GW_ANALYZER_VERDICTS_SLOW_STEPS_H

#include "analyzer/verdicts/replay.h"

/* More slow steps than this share are the rule. */
#define GW_SLOW_STEPS_SHARE 0.25

struct gw_slow_steps {
    double *cost_ns; /* by step of the model: its length on the devices, less what the replay takes for noise, moved to
                        the median of all processes */
    double usual_ns; /* the median analysed step */
    double limit_ns; /* a step is slow when it costs more than usual_ns by this: a tenth of it, and six deviations */
    bool few;        /* some are, and no more than GW_SLOW_STEPS_SHARE of them */
};

/* steps: as gw_device_steps() has them. replay may be NULL. Returns 0 or -ENOMEM. */
int gw_slow_steps_init(struct gw_slow_steps *ret_slow, const struct gw_model *model, const struct gw_interval *steps,
                       const struct gw_replay *replay);
void gw_slow_steps_release(struct gw_slow_steps *slow);

/* How much more than usual a step costs; 0 when it is not slow, or one of warm-up. */
double gw_slow_step_over_ns(const struct gw_slow_steps *slow, const struct gw_model *model, size_t step);

#endif
