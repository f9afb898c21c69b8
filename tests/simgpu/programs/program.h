/* What every test program shares: checks that end it with status 1, and kernels that take a stated time. Kernels
 * compute nothing on the simulated GPU, so programs check copies, errors, order and queries only. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t check_result = (call);                                                                             \
        if (check_result != cudaSuccess) {                                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_result));      \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

/* CALL must fail with ERROR. */
#define CHECK_FAILS(call, error)                                                                                       \
    do {                                                                                                               \
        cudaError_t check_result = (call);                                                                             \
        if (check_result != (error)) {                                                                                 \
            std::fprintf(stderr, "%s:%d: %s: %s instead of %s\n", __FILE__, __LINE__, #call,                           \
                         cudaGetErrorName(check_result), cudaGetErrorName(error));                                     \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                               \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

/* CTest takes this status as "skipped". */
inline int skip(const char *why)
{
    std::printf("skipped: %s\n", why);
    return 77;
}

__device__ inline void spin(unsigned long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

/* Takes NS nanoseconds. */
__global__ void spin_ns(unsigned long long ns)
{
    spin(ns);
}
