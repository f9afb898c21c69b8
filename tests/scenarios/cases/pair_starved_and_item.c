/*
 * source: pairs of faults
 * fault: the step waits for its batch, and the loss is read in every step
 * verdict: input-starved
 * also: host-sync, dispatch-bound
 * repaired: host-sync, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct loader loader = {.period_ns = scenario->faulty ? 3500 * US : 500 * US};
    struct trainer trainer = trainer_create(32 * KIB, true);
    start_loader(&loader);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        take_batch(&loader);
        think(150 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 150 * US);
        read_scalar(&trainer);
    }
    stop_loader(&loader);
    trainer_destroy(&trainer);
}
