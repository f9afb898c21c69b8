/*
 * source: a batch split three to one
 * fault: one of two devices has three quarters of the work
 * verdict: imbalance
 * config: devices 2
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainers[2];
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        trainers[device] = trainer_create(32 * KIB, true);
    }
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        for (int device = 0; device < 2; device++) {
            const uint64_t share = !scenario->faulty ? 2 : device ? 1 : 3;
            CHECK(cudaSetDevice(device));
            upload_batch(&trainers[device]);
            launch_many(KERNEL_FORWARD, trainers[device].stream, 8, share * 50 * US);
            launch_many(KERNEL_BACKWARD, trainers[device].stream, 8, share * 100 * US);
        }
        /* Both update their parameters when both are done. */
        for (int device = 0; device < 2; device++)
            CHECK(cudaEventRecord(trainers[device].uploaded[step % 2], trainers[device].stream));
        for (int device = 0; device < 2; device++)
            CHECK(cudaStreamWaitEvent(trainers[device].stream, trainers[1 - device].uploaded[step % 2], 0));
    }
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        trainer_destroy(&trainers[device]);
    }
}
