/*
 * Activations are allocated and released in every step instead of once; each release waits for the device.
 * gpuwitness must confirm alloc-churn.
 */
#include "example.h"

enum { STEPS = 40, LAYERS = 4, BLOCKS = 64, THREADS = 128, ACTIVATION_BYTES = 16 << 20 };

__global__ void forward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void backward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

int main(void)
{
    float *activations[LAYERS];

    for (int step = 0; step < STEPS; step++) {
        for (int layer = 0; layer < LAYERS; layer++) {
            CHECK(cudaMalloc((void **)&activations[layer], ACTIVATION_BYTES));
            forward_spin_ns<<<BLOCKS, THREADS>>>(80000, activations[layer]);
            CHECK(cudaGetLastError());
        }
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            backward_spin_ns<<<BLOCKS, THREADS>>>(150000, activations[layer]);
            CHECK(cudaGetLastError());
            CHECK(cudaFree(activations[layer]));
        }
    }
    CHECK(cudaDeviceSynchronize());
    printf("alloc_churn: %d steps\n", STEPS);
    return 0;
}
