// Four threads, each with a stream of its own, launching and copying side by side on one device.
#include <thread>

#include "program.h"

static void work(int thread)
{
    const size_t count = 2048;
    int *host, *device;
    cudaStream_t stream;
    cudaEvent_t event;

    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMallocHost(&host, 2 * count * sizeof(int)));
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    for (int step = 0; step < 25; step++) {
        for (size_t i = 0; i < count; i++)
            host[i] = thread * 100000 + step * 10 + static_cast<int>(i);
        CHECK(cudaMemcpyAsync(device, host, count * sizeof(int), cudaMemcpyHostToDevice, stream));
        spin_ns<<<8, 128, 0, stream>>>(15000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host + count, device, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaEventSynchronize(event));
        EXPECT(host[count + 9] == host[9] && host[2 * count - 1] == host[count - 1]);
    }
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
