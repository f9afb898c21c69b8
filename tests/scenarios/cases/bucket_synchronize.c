/*
 * source: DeepSpeed#620
 * fault: the device is synchronised after the reduction of each bucket
 * verdict: device-sync
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    const int buckets = 6;
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 100 * US);
        for (int bucket = 0; bucket < buckets; bucket++) {
            think(80 * US);
            launch_many(KERNEL_BACKWARD, trainer.stream, 2, 90 * US);
            launch(KERNEL_REDUCE, trainer.stream, 50 * US);
            if (scenario->faulty)
                CHECK(cudaDeviceSynchronize());
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
