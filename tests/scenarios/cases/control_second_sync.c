/*
 * source: a synchronisation that the next one pays again
 * fault: none: the loss is read right before the program waits anyway
 * verdict: none
 */
#include "tests/scenarios/scenario.h"

/* Neither alone costs more than the few microseconds after it. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 250 * US);
        if (scenario->faulty)
            CHECK(cudaStreamSynchronize(trainer.stream));
        read_scalar(&trainer);
    }
    trainer_destroy(&trainer);
}
