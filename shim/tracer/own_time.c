/*
 * What the tool's own code costs the program: one call of a thread in OWN_TIME_EVERY is timed, in the tool's part
 * before and after the real function and, where CUPTI times it, from there to CUPTI's callbacks at its entry and exit,
 * which is CUPTI's own way to its subscriber. The sums so far are written as an event that is rare when
 * there are many.
 */
#include "shim/tracer/tracer.h"

#include "shim/tracer/events.h"

#define LONGEST_NS 100000u // what lasts longer was something else: the thread lost its CPU, or a backend was opened
#define WRITE_EVERY 1024u
#define TRIES 64u

static uint64_t sampled, total_ns, empty_ns;

void gw_own_time_init(void)
{
    empty_ns = LONGEST_NS;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t begin_ns = gw_now_ns(), took_ns = gw_now_ns() - begin_ns;

        empty_ns = took_ns < empty_ns ? took_ns : empty_ns;
    }
}

uint32_t gw_own_time_since(uint64_t begin_ns)
{
    uint64_t took_ns = gw_now_ns() - begin_ns;

    took_ns = took_ns > empty_ns ? took_ns - empty_ns : 0;
    return took_ns < LONGEST_NS ? (uint32_t)took_ns + 1 : LONGEST_NS;
}

void gw_own_time_add(uint32_t own_ns)
{
    uint64_t sum_ns = __atomic_add_fetch(&total_ns, own_ns, __ATOMIC_RELAXED);
    uint64_t count = __atomic_add_fetch(&sampled, 1, __ATOMIC_RELAXED);

    if ((count & (count - 1)) == 0 || count % WRITE_EVERY == 0)
        lttng_ust_tracepoint(gpuwitness, own_time, gw_tracer.pid, count, sum_ns);
}
