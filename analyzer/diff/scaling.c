#include "analyzer/diff/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/diff/diff.h"
#include "analyzer/export/report_words.h"

#define NOISE_ERRORS 2.0
#define LEAST_SHARE 0.005 /* of B's time; as for the verdicts of a report */

static const struct {
    const char *name, *words;
} texts[GW_SCALING_PARTS] = {
    [GW_SCALING_COMMUNICATION] = {"added communication",
                                  "communication that nothing hides: see comm-* of the report of B"},
    [GW_SCALING_STRAGGLERS] = {"waiting for stragglers", "ranks that arrive late: see straggler of the report of B"},
    [GW_SCALING_HOST] = {"host contention", "the host keeps the devices waiting: fewer CPUs, or one thread, for each"},
    [GW_SCALING_OVERLAP] = {"lost overlap", "copies, event waits and kernels that no longer run side by side"},
    [GW_SCALING_KERNELS] = {"slower kernels", "the same work takes longer, or does not shrink with its share"},
    [GW_SCALING_REST] = {"rest", "launch latency and what is not known"},
};

/* The group of each class but compute, which two share. */
static enum gw_scaling_part part_of(enum gw_class cls)
{
    switch (cls) {
    case GW_CLASS_COMM_TRANSFER:
    case GW_CLASS_COMM_EXPOSED:
        return GW_SCALING_COMMUNICATION;
    case GW_CLASS_COMM_WAIT:
        return GW_SCALING_STRAGGLERS;
    case GW_CLASS_COMPUTE:
    case GW_CLASS_COPY_H2D:
    case GW_CLASS_COPY_D2H:
    case GW_CLASS_COPY_D2D:
    case GW_CLASS_COPY_P2P:
    case GW_CLASS_IDLE_DEPENDENCY:
        return GW_SCALING_OVERLAP;
    case GW_CLASS_IDLE_LATENCY:
    case GW_CLASS_IDLE_UNKNOWN:
        return GW_SCALING_REST;
    default:
        return GW_SCALING_HOST;
    }
}

const char *gw_scaling_part_name(enum gw_scaling_part part)
{
    return texts[part].name;
}

const char *gw_scaling_part_words(enum gw_scaling_part part)
{
    return texts[part].words;
}

void gw_scaling_group(const double class_ms[GW_CLASS_COUNT], double kernels_ms, double ret_ms[GW_SCALING_PARTS])
{
    for (int p = 0; p < GW_SCALING_PARTS; p++)
        ret_ms[p] = 0;
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        ret_ms[part_of((enum gw_class)c)] += class_ms[c];
    ret_ms[GW_SCALING_KERNELS] = kernels_ms;
    ret_ms[GW_SCALING_OVERLAP] -= kernels_ms;
}

static struct gw_scaling_loss loss_of(const struct gw_diff_mean *a, const struct gw_diff_mean *b, double share)
{
    struct gw_scaling_loss loss = {.ms = b->ms - share * a->ms, .error_ms = hypot(share * a->error_ms, b->error_ms)};
    loss.is_noise = fabs(loss.ms) < NOISE_ERRORS * loss.error_ms || loss.ms == 0;
    return loss;
}

bool gw_scaling_of(const struct gw_diff_side *a, const struct gw_diff_side *b, bool has_units,
                   struct gw_scaling *ret_scaling)
{
    if (a->used_devices == b->used_devices || !a->used_devices || !b->used_devices)
        return false;
    const double share = has_units ? (double)a->used_devices / b->used_devices : 1;
    struct gw_scaling scaling = {.devices_a = a->used_devices, .devices_b = b->used_devices, .share_of_a = share};
    scaling.ideal_ms = share * a->step.ms;
    scaling.efficiency = b->step.ms > 0 ? scaling.ideal_ms / b->step.ms : 0;
    scaling.loss = loss_of(&a->step, &b->step, share);
    for (int p = 0; p < GW_SCALING_PARTS; p++) {
        scaling.parts[p] = loss_of(&a->parts[p], &b->parts[p], share);
        if (scaling.parts[p].ms > scaling.parts[scaling.largest].ms)
            scaling.largest = (enum gw_scaling_part)p;
    }
    scaling.state = isinf(scaling.loss.error_ms)                                           ? GW_UNKNOWN
                    : scaling.loss.ms > LEAST_SHARE * b->step.ms && !scaling.loss.is_noise ? GW_CONFIRMED
                                                                                           : GW_RULED_OUT;
    *ret_scaling = scaling;
    return true;
}

char *gw_scaling_answer(const struct gw_scaling *scaling, const char *unit)
{
    char *text = NULL;
    const struct gw_scaling_loss *largest = &scaling->parts[scaling->largest];
    const struct gw_duration ideal = gw_duration_words(scaling->ideal_ms), loss = gw_duration_words(scaling->loss.ms),
                             noise = gw_duration_words(NOISE_ERRORS * scaling->loss.error_ms),
                             part = gw_duration_words(largest->ms);
    const char *plural = scaling->devices_b == 1 ? "" : "s";
    int length;
    if (scaling->state == GW_UNKNOWN)
        length =
            asprintf(&text, "%u device%s take %s a %s at best; with a single step there is no telling what is lost.",
                     scaling->devices_b, plural, ideal.text, unit);
    else if (scaling->state == GW_RULED_OUT)
        length =
            asprintf(&text, "%u device%s scale as they should, within the noise of ±%s: %.0f %% of perfect, %s a %s.",
                     scaling->devices_b, plural, noise.text, 100 * scaling->efficiency, ideal.text, unit);
    else
        length =
            asprintf(&text,
                     "%u device%s reach %.0f %% of perfect scaling, which would take %s a %s: %s is lost. The largest "
                     "part of that is %s, %s.",
                     scaling->devices_b, plural, 100 * scaling->efficiency, ideal.text, unit, loss.text,
                     gw_scaling_part_name(scaling->largest), part.text);
    return length < 0 ? NULL : text;
}
