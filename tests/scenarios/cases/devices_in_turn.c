/*
 * source: a model split over two GPUs with waits that nothing needs
 * fault: each of two devices waits for the other's work of the same step
 * verdict: dependency-stall
 * config: devices 2
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainers[2];
    cudaEvent_t worked[2];
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        trainers[device] = trainer_create(32 * KIB, true);
        CHECK(cudaEventCreateWithFlags(&worked[device], cudaEventDisableTiming));
    }
    for (int step = 0; step < 120; step++) {
        scenario->steps++;
        for (int device = 0; device < 2; device++) {
            CHECK(cudaSetDevice(device));
            upload_batch(&trainers[device]);
            if (scenario->faulty)
                CHECK(cudaStreamWaitEvent(trainers[device].stream, worked[1 - device], 0));
            launch_many(device ? KERNEL_ATTENTION : KERNEL_FORWARD, trainers[device].stream, 4, 100 * US);
            launch_many(device ? KERNEL_NORM : KERNEL_BACKWARD, trainers[device].stream, 4, 150 * US);
            CHECK(cudaEventRecord(worked[device], trainers[device].stream));
        }
    }
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaEventDestroy(worked[device]));
        trainer_destroy(&trainers[device]);
    }
}
