/*
 * Contexts, streams, devices and functions of the traced process, as far as the events speak of them. Tables of fixed
 * size; what does not fit is traced with the handle alone.
 */
#ifndef GW_SHIM_TRACER_OBJECTS_H
#define GW_SHIM_TRACER_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/tracer/tracer.h"

struct gw_context {
    uint64_t handle;
    uint32_t device;
    bool made; // by cuCtxCreate; otherwise a device's primary context
    bool gone;
    void *timing; // the timing backend's
};

struct gw_stream {
    uint64_t raw;    // what the driver knows it by; 1 legacy, 2 per-thread default stream
    uint64_t handle; // as in the events: unique within the process
    struct gw_context *context;
    uint32_t device, number, flags;
    uint16_t next; // of the same hash bucket: index + 1
};

// The stream a call names by `raw`, with the thread's current context where that is a default stream. NULL when it is
// not known and cannot be. Emits the events `device` and `stream` at a stream's first appearance.
const struct gw_stream *gw_stream_get(struct gw_thread *thread, uint64_t raw, bool per_thread);

void gw_stream_created(uint64_t raw, uint32_t cuda_flags);
void gw_stream_destroyed(uint64_t raw);
void gw_device_opened(int device); // by retaining its primary context, used or not
void gw_context_created(uint64_t handle);
// After a call that may have ended contexts: forgets those that are gone.
void gw_contexts_ended(unsigned function, uint64_t argument, int32_t result);
// Nodes of a graph that is sure to exist, with those of its child graphs; a conditional node is one, because a driver
// tells its bodies only to who adds it. 0 where the driver does not say.
uint32_t gw_graph_nodes(uint64_t graph);
// After a look-up of functions: emits their names.
void gw_functions_named(enum gw_action action, const uint64_t *words);
// The handle as it stands in events, also when the stream is not known.
uint64_t gw_stream_event_handle(struct gw_thread *thread, uint64_t raw, bool per_thread);

#endif
