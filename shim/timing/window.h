// Windows of GPU timing: with `record --timing-window=ON/PERIOD` operations are timed in the first ON of each PERIOD of
// CLOCK_MONOTONIC only, so that every process of a host does at once what the comparison of the two parts is about.
#ifndef GW_SHIM_TIMING_WINDOW_H
#define GW_SHIM_TIMING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

// Takes "ON_NS/PERIOD_NS"; NULL or anything else: always on.
void gw_window_init(const char *text);

// Whether there are windows at all.
bool gw_window_is_set(void);

// Whether operations are to be timed now. Without windows it reads no clock.
bool gw_window_is_on(void);

// The same for a time on CLOCK_MONOTONIC; *ret_change_ns: from then until it changes, UINT64_MAX without windows.
bool gw_window_at(uint64_t now_ns, uint64_t *ret_change_ns);

#endif
