/*
 * source: a healthy loop
 * fault: none
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        think(300 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 80 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 160 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
