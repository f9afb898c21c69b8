/*
 * Steps as the program goes through them, for `record --steps` and `record --slow-step`. A step begins with a mark: a
 * kernel or a range of NVTX whose name matches a regular expression. The first one decides which of the two count, and
 * of which thread; of nested ranges the outer ones do, as in analyzer/model/steps.c.
 *
 * Names are matched when they are announced, so that a launch costs a look into a small table.
 */
#ifndef GW_SHIM_TRACER_STEPS_H
#define GW_SHIM_TRACER_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/tracer/nvtx.h"
#include "shim/tracer/tracer.h"

// Reads the settings. Once; returns whether steps are to be counted at all.
bool gw_steps_init(void);

// What *sink.recording is to be: the switch of --steps, or NULL without it.
const int *gw_steps_switch(void);

// Whether steps are counted, and whether calls are not to be written now.
extern bool gw_steps_counted;
bool gw_steps_are_off(void);

// A kernel's name was announced.
void gw_steps_kernel_named(uint64_t function, const char *name);

// Before a call of the driver is recorded, or not: counts it if it is a mark.
void gw_steps_before(struct gw_thread *thread, const struct gw_info *info, const uint64_t *words);
// After the beginning of a recorded call; its end: tells the recorder what there is to tell.
void gw_steps_begun(struct gw_thread *thread, const struct gw_info *info, const struct gw_call *call);
void gw_steps_ended(struct gw_thread *thread);

// In a forked child: locks may be held by threads that are not there.
void gw_steps_forked(void);

// A string of NVTX was registered; a range began (a mark too), or ended. id: of a range that is no push, else the
// level. text: NULL when it is the registered string.
void gw_steps_string(struct gw_thread *thread, uint32_t string, const char *text);
void gw_steps_range_begins(const struct gw_thread *thread, enum gw_nvtx_kind kind, uint64_t domain, uint64_t id,
                           uint32_t string, const char *text);
void gw_steps_range_ends(const struct gw_thread *thread, enum gw_nvtx_kind kind, uint64_t domain, uint64_t id);

#endif
