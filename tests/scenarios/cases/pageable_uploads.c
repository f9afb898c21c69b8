/*
 * source: tensorflow#44836
 * fault: two thirds of the step are uploads from pageable memory
 * verdict: pageable-copy
 * also: stream-serialised, dispatch-bound
 * repaired: stream-serialised
 */
#include "tests/scenarios/scenario.h"

/* A thirtieth of the report's 205 ms, 136 of them uploads. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(24 * MIB, !scenario->faulty);
    for (int step = 0; step < 20; step++) {
        scenario->steps++;
        think(300 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 250 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    trainer_destroy(&trainer);
}
