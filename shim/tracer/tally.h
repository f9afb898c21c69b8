// Counts of calls that only ask for what is known: see tally.c.
#ifndef GW_SHIM_TRACER_TALLY_H
#define GW_SHIM_TRACER_TALLY_H

#include "shim/tracer/tracer.h"

// A call that took longer is recorded by itself.
#define GW_TALLY_LONGEST_NS 2000u

// Once, before any call: gives functions that only ask their gw_info.asks.
void gw_tally_init(void);

// Counts a call of the thread that ended at end_ns; asks is its function's, not 0. Returns false when it cannot be
// counted: it is to be recorded. Allocates at most once a thread; preserves errno.
bool gw_tally_add(struct gw_thread *thread, const struct gw_call *call, unsigned asks, uint64_t end_ns);

// Writes what the thread has counted, if that is due. Preserves errno.
void gw_tally_write(struct gw_thread *thread, uint64_t now_ns);

// The process ends: writes what is left of all threads; no more is counted.
void gw_tally_close(void);

#endif
