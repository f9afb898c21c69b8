/*
 * source: uploads of large page-locked batches by cudaMemcpy
 * fault: each batch is copied while the GPU has nothing else to do; repaired, on a stream of its own while it computes
 * verdict: blocking-copy
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

/* Two buffers on the device: the one that is not worked on is filled. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(6 * MIB, true);
    unsigned char *device[2];
    cudaStream_t copies;
    cudaEvent_t worked_on[2];
    CHECK(cudaStreamDestroy(trainer.stream)); /* one that blocking copies wait for */
    CHECK(cudaStreamCreate(&trainer.stream));
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&worked_on[i], cudaEventDisableTiming));
        CHECK(cudaMalloc((void **)&device[i], trainer.bytes));
    }
    for (unsigned step = 0; step < 40; step++) {
        const unsigned at = step % 2;
        scenario->steps++;
        CHECK(cudaEventSynchronize(worked_on[at]));
        memcpy(trainer.host[at], &step, sizeof(step));
        if (scenario->faulty) {
            CHECK(cudaMemcpy(device[at], trainer.host[at], trainer.bytes, cudaMemcpyHostToDevice));
        } else {
            CHECK(cudaMemcpyAsync(device[at], trainer.host[at], trainer.bytes, cudaMemcpyHostToDevice, copies));
            CHECK(cudaEventRecord(trainer.uploaded[at], copies));
            CHECK(cudaStreamWaitEvent(trainer.stream, trainer.uploaded[at], 0));
        }
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 200 * US);
        CHECK(cudaEventRecord(worked_on[at], trainer.stream));
    }
    trainer_destroy(&trainer);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(device[i]));
        CHECK(cudaEventDestroy(worked_on[i]));
    }
    CHECK(cudaStreamDestroy(copies));
}
