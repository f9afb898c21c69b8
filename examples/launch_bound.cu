/*
 * Hundreds of tiny kernels a step, each with host work before it: the GPU waits for the host most of the time.
 * gpuwitness must confirm dispatch-bound.
 */
#include "example.h"

enum { STEPS = 40, LAYERS = 60, BLOCKS = 8, THREADS = 128 };

__global__ void tiny_forward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void tiny_backward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void tiny_optimizer_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

int main(void)
{
    float *data;
    cudaStream_t stream;

    CHECK(cudaMalloc((void **)&data, BLOCKS * THREADS * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    for (int step = 0; step < STEPS; step++) {
        for (int layer = 0; layer < LAYERS; layer++) {
            think_ns(12000);
            tiny_forward_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(3000, data);
            CHECK(cudaGetLastError());
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            think_ns(12000);
            tiny_backward_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(5000, data);
            CHECK(cudaGetLastError());
        }
        tiny_optimizer_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(8000, data);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    printf("launch_bound: %d steps\n", STEPS);
    return 0;
}
