/*
 * source: the legacy default stream (CUDA's documentation of stream semantics)
 * fault: two independent branches on streams of their own, with a small kernel on the default stream after each
 * verdict: stream-serialised
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    const unsigned flags = scenario->faulty ? cudaStreamDefault : cudaStreamNonBlocking;
    cudaStream_t left, right;
    cudaEvent_t done[2];
    CHECK(cudaStreamCreateWithFlags(&left, flags));
    CHECK(cudaStreamCreateWithFlags(&right, flags));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    for (int step = 0; step < 60; step++) {
        scenario->steps++;
        CHECK(cudaEventSynchronize(done[step % 2]));
        for (int i = 0; i < 4; i++) {
            launch(KERNEL_FORWARD, left, 500 * US);
            launch(KERNEL_NORM, NULL, 10 * US);
            launch(KERNEL_BACKWARD, right, 400 * US);
            launch(KERNEL_NORM, NULL, 10 * US);
        }
        launch(KERNEL_OPTIMIZER, left, 200 * US);
        CHECK(cudaEventRecord(done[step % 2], left));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(done[0]));
    CHECK(cudaEventDestroy(done[1]));
    CHECK(cudaStreamDestroy(left));
    CHECK(cudaStreamDestroy(right));
}
