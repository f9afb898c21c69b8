// Compiled with --default-stream per-thread: stream 0 is the thread's own, and one thread's does not hold up another's.
#include <atomic>
#include <thread>

#include "program.h"

static std::atomic<bool> gate;
static std::atomic<bool> held;

static void wait_for_gate(void *)
{
    held = true;
    while (!gate)
        ;
}

static void work(int thread, int steps)
{
    const size_t bytes = 1 << 13;
    std::vector<unsigned char> host(bytes), back(bytes);
    unsigned char *device;
    CHECK(cudaMalloc(&device, bytes));
    for (int step = 0; step < steps; step++) {
        host.assign(bytes, static_cast<unsigned char>(thread * 50 + step));
        CHECK(cudaMemcpyAsync(device, host.data(), bytes, cudaMemcpyHostToDevice));
        spin_ns<<<2, 64>>>(10000);
        CHECK(cudaMemcpyAsync(back.data(), device, bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaStreamSynchronize(nullptr));
        EXPECT(back == host);
    }
    CHECK(cudaStreamQuery(nullptr));
    CHECK(cudaFree(device));
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work, i, 15);
    for (auto &thread : threads)
        thread.join();

    // Held: this thread's default stream. Free: the other thread's.
    CHECK(cudaLaunchHostFunc(nullptr, wait_for_gate, nullptr));
    CHECK_FAILS(cudaStreamQuery(nullptr), cudaErrorNotReady);
    CHECK_FAILS(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    (void)cudaGetLastError();
    std::thread other([] {
        while (!held)
            std::this_thread::yield();
        spin_ns<<<1, 32>>>(10000);
        CHECK(cudaStreamSynchronize(nullptr));
        CHECK(cudaStreamQuery(cudaStreamPerThread));
    });
    other.join();
    gate = true;
    CHECK(cudaStreamSynchronize(nullptr));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
