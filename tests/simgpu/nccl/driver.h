// The simulated driver as this library reaches it, and what every entry point is made of.
#ifndef GW_SIMGPU_NCCL_DRIVER_H
#define GW_SIMGPU_NCCL_DRIVER_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <nccl.h>
#include <stdbool.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/external.h"

struct driver {
    PFN_cuInit_v2000 init;
    PFN_cuCtxGetCurrent_v4000 ctx_get_current;
    PFN_cuCtxSetCurrent_v4000 ctx_set_current;
    PFN_cuCtxGetDevice_v2000 ctx_get_device;
    PFN_cuDeviceGetCount_v2000 device_get_count;
    PFN_cuDevicePrimaryCtxRetain_v7000 primary_ctx_retain;
    PFN_cuDeviceGetPCIBusId_v4010 device_get_bus_id;
    PFN_cuModuleLoadData_v2000 module_load_data;
    PFN_cuModuleGetFunction_v2000 module_get_function;
    PFN_cuLaunchKernel_v4000 launch_kernel;
    PFN_cuMemcpyDtoDAsync_v3020 copy_async;
    PFN_cuMemAlloc_v3020 mem_alloc;
    PFN_cuMemFree_v3020 mem_free;
    simgpu_call_begin_fn *call_begin;
    simgpu_call_end_fn *call_end;
    simgpu_config_number_fn *config_number;
    simgpu_next_kernel_fn *next_kernel;
    simgpu_external_start_fn *start;
    simgpu_external_finish_fn *finish;
    simgpu_effect_fn *effect;
    simgpu_lock_fn *lock;
    simgpu_unlock_fn *unlock;
    simgpu_link_gbps_fn *link_gbps;
};

// The driver; NULL where it is no simulated one. Loaded at the first call.
const struct driver *driver_get(void);

// The same, but NULL too where nothing has needed it yet: it is not loaded for this.
const struct driver *driver_known(void);

// The value of a configuration key.
double driver_number(const char *key);

// A kernel of that name in the current context, from a module made on first use. NULL when it cannot be had.
CUfunction driver_kernel(CUcontext context, const char *name);

#define EXPORT __attribute__((visibility("default")))

// Enters and leaves an entry point. A non-zero result of entry_begin is what it must return.
ncclResult_t entry_begin(struct simgpu_call *call, const char *name, const void *caller);
ncclResult_t entry_end(struct simgpu_call *call, ncclResult_t result);

// The entry points ncclNAME and pncclNAME, which do `function arguments`.
#define ENTRY(name, function, parameters, arguments)                                                                   \
    ENTRY_NAMED(nccl##name, function, parameters, arguments)                                                           \
    ENTRY_NAMED(pnccl##name, function, parameters, arguments)
#define ENTRY_NAMED(symbol, function, parameters, arguments)                                                           \
    ncclResult_t symbol parameters;                                                                                    \
    EXPORT ncclResult_t symbol parameters                                                                              \
    {                                                                                                                  \
        struct simgpu_call call;                                                                                       \
        ncclResult_t result = entry_begin(&call, #symbol, __builtin_return_address(0));                                \
        if (result == ncclSuccess)                                                                                     \
            result = function arguments;                                                                               \
        return entry_end(&call, result);                                                                               \
    }

// What went wrong last on this thread; for ncclGetLastError. Returns `result`.
ncclResult_t fail(ncclResult_t result, const char *why);
const char *last_failure(void);

#endif
