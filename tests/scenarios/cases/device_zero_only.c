/*
 * source: functa#11
 * fault: four devices hold memory, one does the work
 * verdict: idle-device
 * also: imbalance
 * compare: no
 * config: devices 4
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int device = 1; device < 4; device++) {
        void *parameters;
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&parameters, 4 * MIB));
    }
    CHECK(cudaSetDevice(0));
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 200 * US);
    }
    trainer_destroy(&trainer);
}
