// The one clock of the simulation, CLOCK_MONOTONIC in nanoseconds, and two ways to let it pass.
#ifndef GW_SIMGPU_CLOCK_H
#define GW_SIMGPU_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Spends the CPU until `until_ns`: for host costs, which the real driver spends computing too.
static inline void clock_spin_until(uint64_t until_ns)
{
    while (clock_now_ns() < until_ns) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

// Blocks until `until_ns`: sleeps while a timer is exact enough, then spins, so that it returns within a microsecond.
static inline void clock_wait_until(uint64_t until_ns)
{
    const uint64_t timer_slack_ns = 60000;
    if (until_ns > clock_now_ns() + timer_slack_ns) {
        const uint64_t wake_ns = until_ns - timer_slack_ns;
        const struct timespec wake = {.tv_sec = (time_t)(wake_ns / 1000000000u),
                                      .tv_nsec = (long)(wake_ns % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0) {
        }
    }
    clock_spin_until(until_ns);
}

#endif
