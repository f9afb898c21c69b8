/*
 * source: Lightning#17359
 * fault: CUDA_LAUNCH_BLOCKING=1 was left in the environment
 * verdict: blocking-launches
 * also: dispatch-bound
 */
#include <stdlib.h>

#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    if (scenario->faulty)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 24; layer++) {
            think(25 * US);
            launch(layer < 12 ? KERNEL_FORWARD : KERNEL_BACKWARD, trainer.stream, 90 * US);
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
