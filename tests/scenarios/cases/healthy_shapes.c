/*
 * source: a healthy loop
 * fault: none: shapes that change from step to step
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (unsigned step = 0; step < 40; step++) {
        const unsigned length = 80 + step * 37 % 41;
        scenario->steps++;
        think(100 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, length * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 2 * length * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
