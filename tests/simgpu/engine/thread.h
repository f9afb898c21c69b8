// What the simulation keeps of each thread. Initial-exec thread-local storage: no allocation at first use.
#ifndef GW_SIMGPU_THREAD_H
#define GW_SIMGPU_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct CUctx_st;
struct simgpu_external;

#define THREAD_CONTEXTS 64

struct thread {
    int tid;               // 0 until asked for
    unsigned depth;        // API calls entered and not left
    unsigned cuda_depth;   // those of them that are CUDA's, not NCCL's
    unsigned observers;    // those of them that the tracer made, and what they call in turn
    bool in_host_function; // running a host function or callback: no API call is permitted
    int capture_mode;      // CUstreamCaptureMode set by cuThreadExchangeStreamCaptureMode
    uint64_t cost_ns;      // host time the call in progress has yet to spend, outside the lock
    uint64_t correlation;  // number of the outermost call of CUDA in progress, else of NCCL
    struct CUctx_st *contexts[THREAD_CONTEXTS];
    unsigned context_count;
    const struct simgpu_external *next_kernel; // what the next kernel launched is, or NULL
    uint64_t next_kernel_ns;                   // duration of the next kernel launched; 0: nothing was said
    uint64_t serial;                           // distinguishes threads whose storage is reused; 0 until asked for
};

extern __thread struct thread sim_thread __attribute__((tls_model("initial-exec")));

#endif
