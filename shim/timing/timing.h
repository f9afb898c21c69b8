/*
 * Times of operations on the device. A backend marks each operation where the driver is called for it and emits its
 * gpu_op event later, from a thread of its own.
 */
#ifndef GW_SHIM_TIMING_TIMING_H
#define GW_SHIM_TIMING_TIMING_H

#include <stdint.h>

#include "shim/tracer/objects.h"

struct gw_timing_ops {
    // NULL, or: just before the first context is made or retained; any thread, any number of times.
    void (*prepare)(void);
    // NULL, or: just before a call of that name by which the program begins to use CUPTI; any number of times.
    void (*give_way)(const char *function);
    // Just before the driver's call that puts an operation on a stream that is not capturing. Returns the operation, or
    // NULL when it is not to be timed.
    void *(*before)(const struct gw_stream *stream);
    // Just after it. Takes the operation.
    void (*after)(void *operation, const struct gw_thread *thread, const struct gw_call *call, const uint64_t *words,
                  int32_t result);
    // Round a call that may end contexts: nothing of theirs is touched in between.
    void (*pause)(void);
    void (*resume)(void);
    // A context is gone: its events with it.
    void (*drop)(struct gw_context *context);
    // In a forked child: forget everything, touch nothing.
    void (*forked)(void);
};

// CUDA events round each operation (events.c). Starts nothing before the first operation.
const struct gw_timing_ops *gw_timing_events_start(void);

// CUPTI's activity records (cupti.c). Claims CUPTI at the first `prepare`; when that fails, or when the program begins
// to use CUPTI itself, the backend above takes over and the coverage says why. `asked`: it is the user's choice, so
// that also its absence is said.
const struct gw_timing_ops *gw_timing_cupti_start(bool asked);

#endif
