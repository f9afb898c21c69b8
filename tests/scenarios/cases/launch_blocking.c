/*
 * source: Lightning#17359
 * fault: every launch is followed by a synchronisation
 * verdict: blocking-launches
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* What CUDA_LAUNCH_BLOCKING=1 does, written out: also waits in the loop. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 24; layer++) {
            think(25 * US);
            launch(layer < 12 ? KERNEL_FORWARD : KERNEL_BACKWARD, trainer.stream, 90 * US);
            if (scenario->faulty)
                CHECK(cudaStreamSynchronize(trainer.stream));
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
        if (scenario->faulty)
            CHECK(cudaStreamSynchronize(trainer.stream));
    }
    trainer_destroy(&trainer);
}
