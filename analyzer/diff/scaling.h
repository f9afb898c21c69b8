/*
 * Where the efficiency goes when a run uses more devices than another: the loss against perfect scaling, split by
 * cause.
 *
 * Perfect: with k = 1, each device does as much a step as in A (weak scaling, taken when nothing else is said), so B's
 * step takes as long as A's; with units a step (diff --per), k = devices of A / devices of B on the time of a unit. The
 * loss is B's time minus k times A's. Both are partitions of the step (docs/budget.md) put together in other groups, so
 * the parts of the loss, each B's group minus k times A's, sum to it. The groups, means over devices:
 *
 *   communication   exposed communication while all ranks take part, or where that is not known
 *   stragglers      exposed communication that waits for a rank, and on those waited for what their kernels are longer:
 *                   the mean over devices less the device in the middle (of two the shorter)
 *   host            idle device while the host is busy, sleeps, or is in a call
 *   overlap         exposed copies, event waits, and what the union of kernels exceeds their sum by (below 0: the time
 *                   in which kernels ran side by side)
 *   kernels         sum of the lengths of kernels other than communication, on the device in the middle
 *   rest            launch latency, unknown
 */
#ifndef GW_ANALYZER_DIFF_SCALING_H
#define GW_ANALYZER_DIFF_SCALING_H

#include <stdbool.h>

#include "analyzer/verdicts/verdicts.h"

enum gw_scaling_part {
    GW_SCALING_COMMUNICATION = 0,
    GW_SCALING_STRAGGLERS,
    GW_SCALING_HOST,
    GW_SCALING_OVERLAP,
    GW_SCALING_KERNELS,
    GW_SCALING_REST,
    GW_SCALING_PARTS
};

struct gw_diff_side;

struct gw_scaling_loss {
    double ms, error_ms;
    bool is_noise; /* smaller than two standard errors */
};

struct gw_scaling {
    uint32_t devices_a, devices_b; /* that work in analysed steps */
    double ideal_ms, efficiency;   /* of B: what perfect scaling would take; that over what it takes */
    double share_of_a;             /* k above */
    struct gw_scaling_loss loss, parts[GW_SCALING_PARTS]; /* the parts sum to the loss */
    enum gw_scaling_part largest;
    enum gw_verdict_state state; /* confirmed: a loss beyond noise and 0.5 % of B's time */
};

/* "added communication", …; and what looks after it. Static. */
const char *gw_scaling_part_name(enum gw_scaling_part part);
const char *gw_scaling_part_words(enum gw_scaling_part part);

/* Groups of a step's budget on one device; kernels_ms: sum of its kernels' lengths. They sum to the step. */
void gw_scaling_group(const double class_ms[GW_CLASS_COUNT], double kernels_ms, double ret_ms[GW_SCALING_PARTS]);

/* True, with *ret_scaling filled, when the two runs use different numbers of devices. has_units: the sides' figures are
 * of a unit of work, not of a step. */
bool gw_scaling_of(const struct gw_diff_side *a, const struct gw_diff_side *b, bool has_units,
                   struct gw_scaling *ret_scaling);

/* The answer in two sentences; the caller frees. NULL: no memory. */
char *gw_scaling_answer(const struct gw_scaling *scaling, const char *unit);

#endif
