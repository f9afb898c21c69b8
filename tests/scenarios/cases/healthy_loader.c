/*
 * source: a healthy loop
 * fault: none: a loader thread that is always ahead
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct loader loader = {.period_ns = 500 * US};
    struct trainer trainer = trainer_create(32 * KIB, true);
    start_loader(&loader);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        take_batch(&loader);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 80 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 160 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    stop_loader(&loader);
    trainer_destroy(&trainer);
}
