/*
 * source: the usual loop of PyTorch
 * fault: none: a page-locked batch goes up in the stream that computes, in 2 % of the step
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(512 * KIB, true);
    for (int step = 0; step < 60; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 300 * US);
        launch_many(KERNEL_OPTIMIZER, trainer.stream, 2, 50 * US);
    }
    trainer_destroy(&trainer);
}
