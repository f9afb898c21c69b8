/*
 * The busy and idle intervals of one device, by sweeping the union of its operations.
 */
#ifndef GW_ANALYZER_VERDICTS_INTERVALS_H
#define GW_ANALYZER_VERDICTS_INTERVALS_H

#include "analyzer/verdicts/budget.h"

/* A stretch of a device's time in one state. */
struct gw_segment {
    uint64_t begin_ns, end_ns;
    uint32_t next_op; /* idle: the operation that ends it, GW_NONE at the end of the trace */
    uint8_t cls;      /* enum gw_class; GW_CLASS_COUNT: idle, cause not yet known */
    bool opaque;      /* compute known only as a graph replay without node times */
};

struct gw_segments {
    GW_ARRAY(struct gw_segment, list);
    size_t room;
};

/* True when the operation has times and keeps a device busy (host functions never do). */
static inline bool gw_op_is_busy(const struct gw_op *op)
{
    return op->kind != GW_OP_HOST && !(op->flags & GW_OP_UNTIMED) && op->start_ns != GW_TIME_UNKNOWN &&
           op->end_ns != GW_TIME_UNKNOWN && op->end_ns >= op->start_ns;
}

/* Class of a busy operation when nothing of higher precedence runs beside it. */
enum gw_class gw_op_class(const struct gw_op *op);

/* Partitions [begin_ns, end_ns) into segments by the operations ops[0..count) of one device (indices into model->ops,
 * any order; those that are not busy are passed over). arrived_ns: as of gw_arrivals_create(). O(n log n); takes little
 * memory beside the segments where the order is near that of their starts. Returns 0 or -ENOMEM; the caller frees
 * ret_segments->list. */
int gw_segments_create(const struct gw_model *model, const uint32_t *ops, size_t count, const uint64_t *arrived_ns,
                       uint64_t begin_ns, uint64_t end_ns, struct gw_segments *ret_segments);

/* Sorts intervals and merges those that touch, in place; returns how many remain. */
size_t gw_intervals_merge(struct gw_interval *intervals, size_t count);

#endif
