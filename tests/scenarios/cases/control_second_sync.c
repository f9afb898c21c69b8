/*
 * source: a synchronisation that the next one pays again
 * fault: none: the loss is read right before the program waits anyway
 * verdict: none
 * also: host-sync
 * repaired: host-sync
 */
#include "tests/scenarios/scenario.h"

/* Only the few microseconds after the read are to be gained. Long steps, so that they are less than what counts where a
 * busy machine wakes the host late. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 700 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 1100 * US);
        if (scenario->faulty)
            CHECK(cudaStreamSynchronize(trainer.stream));
        read_scalar(&trainer);
    }
    trainer_destroy(&trainer);
}
