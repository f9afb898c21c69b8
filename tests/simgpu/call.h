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
    uint64_t carried;  // the observer's
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

// Whether the configuration is understood. What is wrong was then said on stderr, once, a line each.
// Returns 0 or -EINVAL.
int simgpu_config_check(void);

// What a profiler may see: the program's API calls and the operations on the devices. Times are CLOCK_MONOTONIC.
struct simgpu_call_seen {
    const char *name;     // of the entry point; the same pointer at each call
    uint64_t correlation; // shared by an outermost call of CUDA and those nested in it; never 0
    uint64_t *begin_ns;   // 0 at entry unless it was read already: a profiler that wants it at exit reads it then
    int is_exit;
    int result;        // at exit
    uint64_t *carried; // the profiler's own, kept from entry to exit
};

enum simgpu_operation_kind {
    SIMGPU_KERNEL,
    SIMGPU_MEMSET,
    SIMGPU_H2D,
    SIMGPU_D2H,
    SIMGPU_D2D,
    SIMGPU_P2P,
    SIMGPU_GRAPH_END, // all operations of a graph's launch have been seen
};

struct simgpu_operation {
    enum simgpu_operation_kind kind;
    unsigned device, peer, stream;
    const char *name; // never freed
    uint64_t bytes, correlation, graph_node, start_ns, end_ns;
    uint32_t graph; // of the executable graph it is part of; 0: none
    int is_pageable;
};

// `call` is called at entry and exit of each of the program's calls, on its thread, with no lock held; `operation` as
// soon as an operation's times are known, which may lie ahead, with the engine's lock held: it must call nothing of
// the driver. The observer must live as long as the process; NULL members are not called; NULL ends it.
struct simgpu_observer {
    void (*call)(const struct simgpu_call_seen *call);
    void (*operation)(const struct simgpu_operation *operation);
};
void simgpu_observe(const struct simgpu_observer *observer);

// The error configured by `fail` for this call of `name`, counted among the calls of that name; 0: none. For entry
// points of profilers, whose callers are tools.
int simgpu_fault(const char *name);

typedef void simgpu_observe_fn(const struct simgpu_observer *);
typedef int simgpu_fault_fn(const char *);
typedef int simgpu_call_begin_fn(struct simgpu_call *, const char *, const void *);
typedef void simgpu_call_end_fn(struct simgpu_call *, int);
typedef int simgpu_config_number_fn(const char *, double *);

#endif
