/*
 * What the examples share: error checks, the clock, host work and kernels that take a stated time.
 *
 * A kernel whose name contains spin_ns takes its duration as its first argument: on a GPU it spins that long, on the
 * simulated GPU it is said to have taken that long. So one program is the same scenario on both.
 */
#ifndef GW_EXAMPLES_EXAMPLE_H
#define GW_EXAMPLES_EXAMPLE_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Every CUDA call of an example stands in CHECK: an error ends the program with one line. */
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static inline void check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, call, cudaGetErrorString(error));
    exit(1);
}

static inline unsigned long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

/* Host work outside CUDA: what an interpreter or a framework does between two launches. */
static inline void think_ns(unsigned long long duration_ns)
{
    unsigned long long begin_ns = now_ns();
    while (now_ns() - begin_ns < duration_ns)
        ;
}

static __device__ inline unsigned long long device_ns(void)
{
    unsigned long long value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
    return value;
}

/* Keeps the calling thread busy for duration_ns; the update of data stops the compiler from removing the loop. */
static __device__ inline void spin(unsigned long long duration_ns, float *data)
{
    unsigned long long begin_ns = device_ns();
    while (device_ns() - begin_ns < duration_ns)
        ;
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

#endif
