// Kernels that the simulated libraries (cuBLAS, cuDNN, cuFFT) launch on the simulated driver: they have a name and a
// duration and compute nothing.
#ifndef GW_SIMGPU_STAND_IN_KERNEL_H
#define GW_SIMGPU_STAND_IN_KERNEL_H

#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))

struct kernel {
    const char *name;
    double flops, flops_factor; // operations, and their rate as a multiple of the configured one
    double bytes;               // read and written
    double blocks;              // of the grid; fewer than there are multiprocessors reach a part of the rates only
    unsigned threads;           // of a block
};

// Loads the library's kernels as the real one does at creation: CUDA_ERROR_NOT_INITIALIZED where the process has no
// simulated driver or the driver refuses.
CUresult stand_in_load(void);

// Launches, or captures, a kernel on a stream. Its duration is kernel_base_ns and the longer of flops at flops_per_s
// and bytes at bytes_per_s.
CUresult stand_in_launch(const struct kernel *kernel, CUstream stream);

// Sets words on the device to 0, in order with the kernels of that stream: what functions report there of themselves.
// NULL or no words: nothing.
CUresult stand_in_clear(int *words, size_t count, CUstream stream);

// Waits for a stream: for functions that return a number to the host.
CUresult stand_in_wait(CUstream stream);

#endif
