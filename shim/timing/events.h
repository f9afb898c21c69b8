// The parts of the `events` backend: operations between a pair of CUDA events, a pool of pairs a context, one poller.
#ifndef GW_SHIM_TIMING_EVENTS_H
#define GW_SHIM_TIMING_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/tracer/driver.h"
#include "shim/tracer/objects.h"

#define GW_PAIRS_MAX 65536u // of the process: operations beyond go untimed and are counted
#define GW_POOLS_MAX 64u

struct gw_pair {
    gw_handle start, end;
    struct gw_pool *pool;
    uint64_t call, where, stream;
    // Host clock: before the start event was recorded, at the entry of the driver's call, after its return, after
    // the end event was recorded.
    uint64_t before_ns, begin_ns, returned_ns, after_ns;
    bool waits; // its call may have returned only when it was over: a copy to the host that is not known to be
                // asynchronous, or a launch that blocks
    struct gw_pair *next;
};

// Maps the context's device time to CLOCK_MONOTONIC. Used by the poller only.
struct gw_epoch {
    gw_handle stream;   // the tool's own, non-blocking
    gw_handle event[2]; // current epoch, and the next or last one
    gw_handle probe[2];
    unsigned current;
    bool valid;
    unsigned failures; // of calibrations, one after the other
    double host_ns;    // of event[current], from the clock's reading base_ns on
    uint64_t base_ns;
    uint64_t error_ns, floor_ns, made_ns;
    uint64_t round_trip_ns; // of the quickest probe: from recording an event to seeing it complete
    // Nanoseconds of the host for each of the device, and how far that may be off; fitted over the epochs since an
    // earlier one, the anchor.
    double rate, rate_error;
    double anchored_device_ns, anchored_host_ns;
    uint64_t anchor_error_ns;
};

struct gw_pool {
    struct gw_context *context;
    pthread_mutex_t lock; // of the two lists below; held for a few instructions
    struct gw_pair *free;
    struct gw_pair *pending, **pending_tail;
    unsigned pairs; // made so far
    bool dead;      // its context is gone
    // The poller's own.
    struct gw_pair *waiting;
    struct gw_epoch epoch;
};

// epoch.c: makes the epoch of a pool whose context is current when it is missing or old. Returns whether there is one.
bool gw_epoch_ready(struct gw_epoch *epoch, const struct gw_driver *driver, uint32_t device);
// The time of a completed event on CLOCK_MONOTONIC, and how far it may be off. Returns 0 or the driver's error.
int gw_epoch_time(const struct gw_epoch *epoch, const struct gw_driver *driver, gw_handle event, uint64_t *ret_ns,
                  uint64_t *ret_error_ns);

// poller.c
bool gw_poller_start(void);   // idempotent; returns whether there is a poller
void gw_poller_pending(void); // one operation more is pending
void gw_poller_pause(void);   // handles what is complete, then stays away until resumed; nests
void gw_poller_resume(void);
void gw_poller_stop(uint64_t wait_ns);  // waits at most that long for pending operations, ends the poller
void gw_poller_dropped(unsigned pairs); // pending pairs were thrown away

// Why operations have no times; each is told with its number at the end.
enum gw_untimed {
    GW_UNTIMED_FULL,
    GW_UNTIMED_NO_EVENTS,
    GW_UNTIMED_NOT_RECORDED,
    GW_UNTIMED_NO_TIME,
    GW_UNTIMED_NO_CLOCK,
    GW_UNTIMED_CAPTURES,
    GW_UNTIMED_FAILED,
    GW_UNTIMED_CONTEXT,
    GW_UNTIMED_RUNNING,
    GW_UNTIMED_COUNT
};
void gw_poller_untimed(enum gw_untimed why, unsigned operations);

// events.c: the pools in use, for the poller.
extern struct gw_pool gw_pools[GW_POOLS_MAX];
unsigned gw_pool_count(void);

#endif
