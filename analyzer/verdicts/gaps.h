/*
 * Why a device was idle: each idle interval is cut where its cause changes, by what held the next operation back.
 */
#ifndef GW_ANALYZER_VERDICTS_GAPS_H
#define GW_ANALYZER_VERDICTS_GAPS_H

#include "analyzer/verdicts/host.h"
#include "analyzer/verdicts/intervals.h"

struct gw_gaps {
    GW_ARRAY(struct gw_gap, list);
    size_t room;
};

/* Appends to gaps the causes of the idle segments of one device, in order. fog: sorted disjoint intervals in which
 * operations may have run unseen; idle time there is idle_unknown. latency_ns: the measured launch latency.
 * steps: where not NULL, the time of each step of the model: idle time outside those of the device's process is not
 * looked into, but one piece of class
 * idle_unknown. Returns 0 or -ENOMEM. */
int gw_gaps_append(struct gw_gaps *gaps, const struct gw_host *host, uint32_t device,
                   const struct gw_segments *segments, const struct gw_interval *fog, size_t fog_count,
                   uint64_t latency_ns, const struct gw_interval *steps);

/* Begin of the outermost call that enqueued the operation; GW_TIME_UNKNOWN when the call is not known. */
uint64_t gw_op_enqueue_ns(const struct gw_model *model, const struct gw_op *op);

#endif
