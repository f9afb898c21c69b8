/*
 * source: pairs of faults
 * fault: the loss is read in every step, and the batch comes from pageable memory
 * verdict: pageable-copy
 * also: host-sync, dispatch-bound, stream-serialised, blocking-copy
 * repaired: host-sync, dispatch-bound, stream-serialised, blocking-copy
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(16 * MIB, !scenario->faulty);
    for (int step = 0; step < 25; step++) {
        scenario->steps++;
        think(300 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 250 * US);
        read_scalar(&trainer);
    }
    trainer_destroy(&trainer);
}
