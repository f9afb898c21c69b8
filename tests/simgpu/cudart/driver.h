/* The driver as the runtime sees it: a table of entry points found by name, version and flags through
 * cuGetProcAddress of whatever libcuda.so.1 the dynamic linker finds, as the real runtime does it. */
#ifndef SIMGPU_CUDART_DRIVER_H
#define SIMGPU_CUDART_DRIVER_H

#include <stdbool.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "tests/simgpu/call.h"

/* cudaTypedefs.h of 12.x lacks some types, so a row may bring its own. Members carry a prefix because cuda.h defines
 * many of the bare names as macros. */
struct rt_driver {
#define RT_DRV(name, version, per_thread_version) PFN_##name##_v##version p_##name;
#define RT_DRV_TYPED(key, type, name, version, per_thread_version) __typeof__(type) p_##key;
#include "driver.def"
#undef RT_DRV
#undef RT_DRV_TYPED
};

/* [0]: legacy default stream, [1]: per-thread default stream. Entry points the driver lacks return
 * cudaErrorCallRequiresNewerDriver. Valid once rt_driver_load() has returned true. */
extern struct rt_driver rt_driver[2];

/* The simulated driver's truth log and fault injection; NULL with any other driver. */
struct rt_truth {
    __typeof__(&simgpu_call_begin) begin;
    __typeof__(&simgpu_call_end) end;
};
extern struct rt_truth rt_truth;

/* Loads libcuda.so.1 and finds the truth log's functions, once a process. */
void rt_driver_open(void);

/* Finds the driver's entry points, once a process. Returns whether there is a driver. Calls none of its
 * functions but cuGetProcAddress. */
bool rt_driver_load(void);

/* cuGetProcAddress of the driver: same parameters and result. */
CUresult rt_driver_find(const char *name, int version, cuuint64_t flags, void **ret_function,
                        CUdriverProcAddressQueryResult *ret_status);

/* The entry point NAME with the signature and version of driver.def, of the translation unit's stream default. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define RT_PER_THREAD 1
#else
#define RT_PER_THREAD 0
#endif
#define DRV(name) rt_driver[RT_PER_THREAD].p_##name

/* The driver's addresses are integers, the runtime's pointers. */
static inline void *rt_pointer(CUdeviceptr address)
{
    return (void *)address; // NOLINT(performance-no-int-to-ptr)
}

#endif
