// launches: makes launches as fast as it can and prints nanoseconds a call. Run by `calls` in several surroundings.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cuInit(unsigned flags);
int cuLaunchKernel(uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, uint64_t stream, void **parameters, void **extra);

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
    // A round of long launches is no longer than one of short ones, so that some round is not interrupted.
    const bool are_long = getenv("BENCH_LAUNCH_NS") != NULL;
    const unsigned rounds = are_long ? 2000 : 20, calls = are_long ? 200 : 20000;
    double best = 1e9;

    if (cuInit(0) != 0)
        return 1;
    for (unsigned round = 0; round < rounds; round++) {
        double begin = now_ns();

        for (unsigned i = 0; i < calls; i++)
            if (cuLaunchKernel(4096 + i, 1, 1, 1, 256, 1, 1, 0, 0x1000, NULL, NULL) != 0)
                return 1;
        double each = (now_ns() - begin) / calls;

        best = each < best ? each : best;
    }
    printf("%.2f\n", best);
    return 0;
}
