// What the simulated driver offers the simulated libraries beside it (cudart, nccl, cupti): truth rows for their own
// entry points, injected errors and the configuration. All are exported by libcuda.so.1; look them up with dlsym, so
// that a library works, without a truth log, beside another driver.
#ifndef GW_SIMGPU_CALL_H
#define GW_SIMGPU_CALL_H

#include <stdint.h>

// One API call in progress. Lives on the caller's stack between simgpu_call_begin and simgpu_call_end.
struct simgpu_call {
    const char *name;  // borrowed; must outlive the call
    uint64_t begin_ns; // CLOCK_MONOTONIC; 0 when the call is not logged
    int logged;        // whether simgpu_call_end writes a row and leaves a depth
};

// Enters a call: one level deeper on this thread, spends the call's configured api_cost_ns. `caller` is
// __builtin_return_address(0) of the entry point: calls made by the tracer itself are the observer's, not the
// program's, and are neither logged nor counted for fault injection.
// Returns 0, or the error configured by `fail` for this call (numbered as CUresult, which cudaError_t shares):
// the entry point must then do nothing and pass the error to simgpu_call_end and to its caller.
int simgpu_call_begin(struct simgpu_call *call, const char *name, const void *caller);

// Leaves the call and writes its truth row. `result` is the value the caller gets. Preserves errno.
void simgpu_call_end(struct simgpu_call *call, int result);

// The number configured for `key` (a plain key such as "sms"; not one with a name pattern).
// Returns 0, or -ENOENT when there is no such key; *ret_value is then untouched.
int simgpu_config_number(const char *key, double *ret_value);

typedef int simgpu_call_begin_fn(struct simgpu_call *, const char *, const void *);
typedef void simgpu_call_end_fn(struct simgpu_call *, int);
typedef int simgpu_config_number_fn(const char *, double *);

#endif
