/*
 * source: jax#29470
 * fault: flattening the arguments takes the host longer than the GPU needs for a call
 * verdict: dispatch-bound
 * also: hiccup
 */
#include "tests/scenarios/scenario.h"

/* The GPU is busy for a third of each call. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        think(scenario->faulty ? 2400 * US : 100 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
    }
    trainer_destroy(&trainer);
}
