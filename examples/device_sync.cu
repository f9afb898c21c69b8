/*
 * The host waits for the device after every layer, as programs do that time their layers and forget to stop.
 * gpuwitness must confirm device-sync.
 */
#include "example.h"

enum { STEPS = 40, LAYERS = 8, BLOCKS = 64, THREADS = 128 };

__global__ void forward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void backward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void optimizer_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

int main(void)
{
    float *data;

    CHECK(cudaMalloc((void **)&data, BLOCKS * THREADS * sizeof(float)));
    for (int step = 0; step < STEPS; step++) {
        for (int layer = 0; layer < LAYERS; layer++) {
            think_ns(25000);
            forward_spin_ns<<<BLOCKS, THREADS>>>(60000, data);
            CHECK(cudaGetLastError());
            CHECK(cudaDeviceSynchronize());
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            think_ns(25000);
            backward_spin_ns<<<BLOCKS, THREADS>>>(110000, data);
            CHECK(cudaGetLastError());
            CHECK(cudaDeviceSynchronize());
        }
        optimizer_spin_ns<<<BLOCKS, THREADS>>>(90000, data);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaFree(data));
    printf("device_sync: %d steps\n", STEPS);
    return 0;
}
