/*
 * source: streams that wait for each other's events after every kernel
 * fault: two branches of small kernels run in turn though they could run at once
 * verdict: dependency-stall
 */
#include "tests/scenarios/scenario.h"

static void follow(cudaStream_t after, cudaStream_t before, cudaEvent_t event)
{
    CHECK(cudaEventRecord(event, before));
    CHECK(cudaStreamWaitEvent(after, event, 0));
}

void run_scenario(struct scenario *scenario)
{
    cudaStream_t left, right;
    cudaEvent_t turn, done[2];
    CHECK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&turn, cudaEventDisableTiming));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    for (int step = 0; step < 60; step++) {
        scenario->steps++;
        CHECK(cudaEventSynchronize(done[step % 2]));
        for (int i = 0; i < 4; i++) {
            launch(KERNEL_FORWARD, left, 500 * US);
            if (scenario->faulty)
                follow(right, left, turn);
            launch(KERNEL_BACKWARD, right, 400 * US);
            if (scenario->faulty)
                follow(left, right, turn);
        }
        follow(left, right, turn);
        launch(KERNEL_OPTIMIZER, left, 200 * US);
        follow(right, left, done[step % 2]);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(turn));
    CHECK(cudaEventDestroy(done[0]));
    CHECK(cudaEventDestroy(done[1]));
    CHECK(cudaStreamDestroy(left));
    CHECK(cudaStreamDestroy(right));
}
