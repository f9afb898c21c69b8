// A driver that does nothing: what remains of a call's time is the tool's. Only what the bench and the tracer call. A
// launch takes BENCH_LAUNCH_NS nanoseconds of CPU, if that is set.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef uint64_t handle;

#define EXPORT __attribute__((visibility("default")))
#define STUB(name, parameters, effect)                                                                                 \
    EXPORT int name parameters;                                                                                        \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        effect;                                                                                                        \
        return 0;                                                                                                      \
    }

STUB(cuInit, (unsigned flags), (void)flags)
STUB(cuCtxGetCurrent, (handle * context), *context = 16)
STUB(cuCtxSetCurrent, (handle context), (void)context)
STUB(cuCtxPushCurrent_v2, (handle context), (void)context)
STUB(cuCtxPopCurrent_v2, (handle * context), *context = 16)
STUB(cuCtxGetDevice, (int *device), *device = 0)
STUB(cuDeviceGetAttribute, (int *value, int attribute, int device), *value = attribute + device)
STUB(cuStreamGetCtx, (handle stream, handle *context), *context = 16 + 0 * stream)
STUB(cuCtxSynchronize, (void), )
static uint64_t launch_ns;

__attribute__((constructor)) static void read_settings(void)
{
    const char *text = getenv("BENCH_LAUNCH_NS");

    launch_ns = text ? strtoull(text, NULL, 10) : 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void take_time(void)
{
    for (uint64_t end_ns = launch_ns ? now_ns() + launch_ns : 0; launch_ns && now_ns() < end_ns;)
        ;
}

STUB(cuLaunchKernel,
     (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
      handle stream, void **parameters, void **extra),
     (void)function;
     (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)stream; (void)parameters;
     (void)extra; take_time())
