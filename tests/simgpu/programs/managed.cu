// Managed memory: allocations, advice, prefetching, a __managed__ variable. The host reads what it and copies wrote.
#include "program.h"

__managed__ int shared_counter = 0;
__managed__ float shared_table[256];

__global__ void touch_spin_ns(unsigned long long ns, int *)
{
    spin(ns);
}

static cudaError_t prefetch(void *pointer, size_t bytes, int device)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return cudaMemPrefetchAsync(pointer, bytes, location, 0);
#else
    return cudaMemPrefetchAsync(pointer, bytes, device);
#endif
}

static cudaError_t advise_read_mostly(void *pointer, size_t bytes)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation location = {};
    location.type = cudaMemLocationTypeDevice;
    return cudaMemAdvise(pointer, bytes, cudaMemAdviseSetReadMostly, location);
#else
    return cudaMemAdvise(pointer, bytes, cudaMemAdviseSetReadMostly, 0);
#endif
}

int main()
{
    const size_t count = 4096;
    int *data = nullptr;
    int *device = nullptr;
    cudaPointerAttributes attributes;

    CHECK(cudaMallocManaged(&data, count * sizeof(int)));
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    CHECK(cudaPointerGetAttributes(&attributes, data));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    EXPECT(attributes.devicePointer == data && attributes.hostPointer == data);
    CHECK(advise_read_mostly(data, count * sizeof(int)));
    for (int step = 0; step < 25; step++) {
        for (size_t i = 0; i < count; i++)
            data[i] = step + static_cast<int>(i);
        shared_counter = step;
        shared_table[step] = static_cast<float>(step);
        CHECK(prefetch(data, count * sizeof(int), 0));
        touch_spin_ns<<<16, 256>>>(20000, data);
        CHECK(cudaMemcpyAsync(device, data, count * sizeof(int), cudaMemcpyDefault));
        CHECK(prefetch(data, count * sizeof(int), cudaCpuDeviceId));
        CHECK(cudaDeviceSynchronize());
        EXPECT(data[10] == step + 10);
        EXPECT(shared_counter == step);
    }
    CHECK(cudaMemset(data, 0, count * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    EXPECT(data[count - 1] == 0);
    CHECK(cudaMemcpy(data, device, count * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    EXPECT(data[5] == 29);
    EXPECT(shared_table[7] == 7.0f);
    CHECK(cudaFree(device));
    CHECK(cudaFree(data));
    return 0;
}
