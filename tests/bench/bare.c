// bare: writes three-field tracepoints as fast as it can and prints nanoseconds each. Run by `calls`.
#include <stdio.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/bare_provider.h"

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
    const unsigned rounds = 20, events = 20000;
    double best = 1e9;

    for (unsigned round = 0; round < rounds; round++) {
        double begin = now_ns();

        for (uint64_t i = 0; i < events; i++)
            lttng_ust_tracepoint(gpuwitness, bare, i, round, 3);
        double each = (now_ns() - begin) / events;

        best = each < best ? each : best;
    }
    printf("%.2f\n", best);
    return 0;
}
