/*
 * Two runs on one budget. Each run is summed up on its own, so that only one model is in memory at a time; a difference
 * is that of the means, its noise that of two independent samples: sqrt(sA²/nA + sB²/nB) over analysed steps.
 */
#ifndef GW_ANALYZER_DIFF_DIFF_H
#define GW_ANALYZER_DIFF_DIFF_H

#include <stdio.h>

#include "analyzer/diff/roles.h"
#include "analyzer/diff/scaling.h"
#include "analyzer/verdicts/verdicts.h"

#define GW_DIFF_NAMES 3u

/* Mean over the analysed steps and its standard error; the error is infinite with one step. */
struct gw_diff_mean {
    double ms, error_ms;
};

struct gw_diff_role {
    double ms, count;           /* sum of kernel times and number of kernels, a unit and device */
    char *names[GW_DIFF_NAMES]; /* of the kernels with most time, folded; NULL-padded */
};

struct gw_diff_side {
    char *path;
    char *device; /* name of the first device, "GPU" when unknown */
    bool simulated;
    uint32_t processes, devices, steps, warmup;        /* steps: analysed ones that have a budget */
    uint32_t used_devices;                             /* that work in analysed steps */
    double per;                                        /* units in a step; all figures below are for one unit */
    struct gw_diff_mean step, classes[GW_CLASS_COUNT]; /* the classes' means sum to the step's */
    struct gw_diff_mean parts[GW_SCALING_PARTS];       /* of a step too, see scaling.h */
    struct gw_diff_role roles[GW_ROLE_COUNT];
    double kernels_ms; /* over all roles */
    size_t verdict_count;
    enum gw_verdict_state *states; /* in the order of gw_verdict_ids() */
    double *savings_ms;            /* 0 unless confirmed */
};

/* Sums up a run; per is above 0. Returns 0; -ENODATA when no analysed step has a budget; -ENOMEM. */
int gw_diff_side_create(const struct gw_model *model, const struct gw_budget *budget,
                        const struct gw_verdicts *verdicts, double per, struct gw_diff_side **ret_side);
void gw_diff_side_destroy(struct gw_diff_side *side); /* NULL is allowed */

struct gw_diff_change {
    double ms, error_ms;
    bool is_noise; /* smaller than two standard errors */
};

struct gw_diff_change gw_diff_change(const struct gw_diff_mean *a, const struct gw_diff_mean *b);

/* What becomes of a verdict from a to b: "appears", "vanishes" or "stays" when it is confirmed, "unknown" when one of
 * the two could not be judged, "absent" when it is confirmed in neither. */
const char *gw_diff_change_name(enum gw_verdict_state a, enum gw_verdict_state b);

/* The answer in one or two sentences; the caller frees. NULL: no memory. unit: "step", "sample", … */
char *gw_diff_answer(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit);

/* For people: text of aligned columns, or Markdown. unit "step" stands for no units: runs on different numbers of
 * devices are then taken to do as much a step on each. Returns 0, -ENOMEM or the negative errno of writing. */
int gw_diff_text(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit, bool markdown,
                 FILE *out);

/* One JSON object, schema gpuwitness.diff/1 (docs/diff.schema.json). Returns as gw_diff_text. */
int gw_diff_json(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit, FILE *out);

#endif
