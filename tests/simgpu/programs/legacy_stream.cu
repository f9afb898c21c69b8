// The legacy default stream waits for blocking streams and they for it; non-blocking streams go their own way.
#include <atomic>

#include "program.h"

static std::atomic<bool> gate;

// Holds its stream until the host opens the gate.
static void wait_for_gate(void *)
{
    while (!gate)
        ;
}

int main()
{
    cudaStream_t blocking, free_running;
    cudaEvent_t on_legacy, on_blocking, on_free;
    int least = 0, greatest = 0;

    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least >= greatest);
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamCreateWithPriority(&free_running, cudaStreamNonBlocking, greatest));
    CHECK(cudaEventCreate(&on_legacy));
    CHECK(cudaEventCreate(&on_blocking));
    CHECK(cudaEventCreate(&on_free));
    unsigned flags = 0;
    int priority = 1;
    CHECK(cudaStreamGetFlags(free_running, &flags));
    EXPECT(flags == cudaStreamNonBlocking);
    CHECK(cudaStreamGetPriority(free_running, &priority));
    EXPECT(priority == greatest);

    for (int step = 0; step < 25; step++) {
        gate = false;
        // The blocking stream is held, so the legacy stream behind it is too; the free one is not.
        CHECK(cudaLaunchHostFunc(blocking, wait_for_gate, nullptr));
        spin_ns<<<1, 32>>>(10000);
        CHECK(cudaEventRecord(on_legacy));
        spin_ns<<<1, 32, 0, free_running>>>(10000);
        CHECK(cudaEventRecord(on_free, free_running));
        CHECK(cudaStreamSynchronize(free_running));
        CHECK(cudaEventQuery(on_free));
        CHECK_FAILS(cudaEventQuery(on_legacy), cudaErrorNotReady);
        CHECK_FAILS(cudaStreamQuery(blocking), cudaErrorNotReady);
        gate = true;
        // And the blocking stream waits for the legacy one.
        spin_ns<<<1, 32, 0, blocking>>>(5000);
        CHECK(cudaEventRecord(on_blocking, blocking));
        CHECK(cudaStreamSynchronize(blocking));
        float ms = -1;
        CHECK(cudaEventElapsedTime(&ms, on_legacy, on_blocking));
        EXPECT(ms >= 0.004f);
        CHECK(cudaEventQuery(on_legacy));
        (void)cudaGetLastError(); // the not-ready of the queries
    }
    CHECK(cudaStreamQuery(cudaStreamLegacy));
    CHECK(cudaStreamQuery(nullptr));
    CHECK(cudaEventDestroy(on_legacy));
    CHECK(cudaEventDestroy(on_blocking));
    CHECK(cudaEventDestroy(on_free));
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaStreamDestroy(free_running));
    return 0;
}
