/*
 * source: a healthy loop
 * fault: none: two devices that do equal work
 * verdict: none
 * compare: no
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
            CHECK(cudaSetDevice(device));
            upload_batch(&trainers[device]);
            launch_many(KERNEL_FORWARD, trainers[device].stream, 8, 100 * US);
            launch_many(KERNEL_BACKWARD, trainers[device].stream, 8, 200 * US);
            launch(KERNEL_OPTIMIZER, trainers[device].stream, 100 * US);
        }
    }
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        trainer_destroy(&trainers[device]);
    }
}
