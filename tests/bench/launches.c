// launches: makes launches, or what BENCH_CALL names (quick, blocking), as fast as it can and prints nanoseconds a
// call. Run by `calls` in several surroundings.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cuInit(unsigned flags);
int cuCtxGetDevice(int *device);
int cuCtxSynchronize(void);
int cuLaunchKernel(uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, uint64_t stream, void **parameters, void **extra);

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int launch(unsigned number)
{
    return cuLaunchKernel(4096 + number, 1, 1, 1, 256, 1, 1, 0, 0x1000, NULL, NULL);
}

static int quick(unsigned number)
{
    int device;

    (void)number;
    return cuCtxGetDevice(&device);
}

static int blocking(unsigned number)
{
    (void)number;
    return cuCtxSynchronize();
}

int main(void)
{
    const char *name = getenv("BENCH_CALL");
    int (*const call)(unsigned number) = !name ? launch : strcmp(name, "quick") == 0 ? quick : blocking;
    // Rounds are short, so that some are not interrupted.
    const bool are_long = getenv("BENCH_LAUNCH_NS") != NULL;
    const unsigned rounds = are_long ? 2000 : 200, calls = are_long ? 200 : 2000;
    double best = 1e9;

    if (cuInit(0) != 0)
        return 1;
    for (unsigned round = 0; round < rounds; round++) {
        double begin = now_ns();

        for (unsigned i = 0; i < calls; i++)
            if (call(i) != 0)
                return 1;
        double each = (now_ns() - begin) / calls;

        best = each < best ? each : best;
    }
    printf("%.2f\n", best);
    return 0;
}
