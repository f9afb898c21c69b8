// Kernels that the library launches on the simulated driver: they have a name and a duration and compute nothing.
#ifndef GW_SIMGPU_BLAS_KERNEL_H
#define GW_SIMGPU_BLAS_KERNEL_H

#include <cublas_api.h>
#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))

struct kernel {
    const char *name;
    double flops, flops_factor; // operations, and their rate as a multiple of the configured one
    double bytes;               // read and written
    double blocks;              // of the grid; fewer than there are multiprocessors reach a part of the rates only
    unsigned threads;           // of a block
};

// Loads the library's kernels as the real one does at creation: CUBLAS_STATUS_NOT_INITIALIZED where the process has no
// simulated driver or the driver refuses.
cublasStatus_t kernels_load(void);

// Launches, or captures, a kernel on a stream. Its duration is kernel_base_ns and the longer of flops at flops_per_s
// and bytes at bytes_per_s.
cublasStatus_t kernel_launch(const struct kernel *kernel, CUstream stream);

// Waits for a stream: for functions that return a number to the host.
cublasStatus_t kernels_wait(CUstream stream);

#endif
