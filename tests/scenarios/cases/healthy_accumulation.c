/*
 * source: a healthy loop
 * fault: none: four micro-steps to an optimizer step
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 20; step++) {
        scenario->steps++;
        for (int micro = 0; micro < 4; micro++) {
            upload_batch(&trainer);
            launch_many(KERNEL_FORWARD, trainer.stream, 8, 50 * US);
            launch_many(KERNEL_BACKWARD, trainer.stream, 8, 90 * US);
        }
        launch_many(KERNEL_OPTIMIZER, trainer.stream, 4, 100 * US);
    }
    trainer_destroy(&trainer);
}
