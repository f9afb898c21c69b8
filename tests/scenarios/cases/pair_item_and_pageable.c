/*
 * source: pairs of faults
 * fault: the loss is read in every step, and a small batch comes from pageable memory
 * verdict: host-sync, dispatch-bound
 * also: pageable-copy, stream-serialised
 * repaired: pageable-copy, dispatch-bound, stream-serialised
 */
#include "tests/scenarios/scenario.h"

/* After the repair the upload still waits for the work before it: what it hides is saved, not all. That is clearly more
 * than what page-locked memory saves, so that the order does not hang on the machine. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(512 * KIB, false);
    for (int step = 0; step < 25; step++) {
        scenario->steps++;
        think(300 * US);
        upload_batch(&trainer);
        think(400 * US);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 250 * US);
        if (scenario->faulty)
            read_scalar(&trainer);
    }
    trainer_destroy(&trainer);
}
