/*
 * source: uploads in the stream that computes
 * fault: the next batch is uploaded among the kernels, where nothing can run beside it
 * verdict: stream-serialised
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

/* Two buffers on the device: the one that is not worked on is filled. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(8 * MIB, true);
    unsigned char *device[2];
    cudaStream_t copies;
    cudaEvent_t worked_on[2];
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&worked_on[i], cudaEventDisableTiming));
        CHECK(cudaMalloc((void **)&device[i], trainer.bytes));
    }
    for (unsigned step = 0; step < 40; step++) {
        const unsigned at = step % 2;
        cudaStream_t stream = scenario->faulty ? trainer.stream : copies;
        scenario->steps++;
        CHECK(cudaEventSynchronize(trainer.uploaded[at]));
        memcpy(trainer.host[at], &step, sizeof(step));
        CHECK(cudaStreamWaitEvent(stream, worked_on[at], 0));
        CHECK(cudaMemcpyAsync(device[at], trainer.host[at], trainer.bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaEventRecord(trainer.uploaded[at], stream));
        CHECK(cudaStreamWaitEvent(trainer.stream, trainer.uploaded[at], 0));
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
