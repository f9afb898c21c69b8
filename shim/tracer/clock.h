/*
 * CLOCK_MONOTONIC for a call's beginning, from the cycle counter: reading that takes half as long as the clock. Only
 * where the kernel's own clock runs on that counter, so that it goes on evenly and alike on all CPUs.
 *
 * Each thread pairs the two now and then and goes on from its last pair for 100 us. How many ns a cycle takes follows
 * from pairs at least 10 ms apart, so what an adjusted clock runs fast or slow (at most 500 ppm by adjtimex) is
 * followed; until there are such, and for a pair whose readings lie over 100 ns apart, the clock itself is read.
 */
#ifndef GW_SHIM_TRACER_CLOCK_H
#define GW_SHIM_TRACER_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "shim/sink.h"

static inline uint64_t gw_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t gw_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

// Once, before any other: asks the kernel what its clock runs on.
void gw_clock_init(void);

// Reads the clock, in ns, just after the counter was; makes a pair of them.
uint64_t gw_clock_pair(struct gw_clock *clock, uint64_t ticks);

// The time, in ns, by the thread's clock; all zero at first.
static inline uint64_t gw_clock_read(struct gw_clock *clock)
{
    uint64_t ticks = gw_ticks(), since_ticks = ticks - clock->ticks;

    if (__builtin_expect(since_ticks < clock->limit_ticks, 1))
        return clock->ns + (since_ticks * clock->rate >> 32);
    return gw_clock_pair(clock, ticks);
}

#endif
