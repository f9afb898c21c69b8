/*
 * source: the thread that started the project: pmap over four devices that used one
 * fault: four devices are visible, one is opened and works; repaired, each does a quarter
 * verdict: idle-device
 * config: devices 4
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    const int used = scenario->faulty ? 1 : 4;
    struct trainer trainers[4];
    for (int device = 0; device < used; device++) {
        CHECK(cudaSetDevice(device));
        trainers[device] = trainer_create(32 * KIB, true);
    }
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        for (int device = 0; device < used; device++) {
            CHECK(cudaSetDevice(device));
            upload_batch(&trainers[device]);
            launch_many(KERNEL_FORWARD, trainers[device].stream, 4, 400 * US / (uint64_t)used);
            launch_many(KERNEL_BACKWARD, trainers[device].stream, 8, 600 * US / (uint64_t)used);
        }
    }
    for (int device = 0; device < used; device++) {
        CHECK(cudaSetDevice(device));
        trainer_destroy(&trainers[device]);
    }
}
