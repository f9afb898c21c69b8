/*
 * paced STEPS SLOW: goes through steps that are ranges of NVTX, each with some memsets on the GPU, and of 2 ms at least,
 * so that one in which a busy machine took the CPU away is not many times as long; step SLOW (-1: none) takes half a
 * second.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <stdlib.h>

enum { BYTES = 1 << 20, MEMSETS = 5, USUAL_MS = 2, SLOW_MS = 500 };

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int steps = atoi(argv[1]), slow = atoi(argv[2]);
    void *memory;
    if (cudaMalloc(&memory, BYTES) != cudaSuccess)
        return 1;
    for (int step = 0; step < steps; step++) {
        nvtxRangePushA("step");
        poll(NULL, 0, step == slow ? SLOW_MS : USUAL_MS);
        for (int i = 0; i < MEMSETS; i++) {
            nvtxRangePushA("step of the step"); /* nested, so no step of its own */
            if (cudaMemsetAsync(memory, i, BYTES, 0) != cudaSuccess)
                return 1;
            nvtxRangePop();
        }
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
        nvtxRangePop();
    }
    return cudaFree(memory) == cudaSuccess ? 0 : 1;
}
