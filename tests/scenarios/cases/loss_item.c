/*
 * source: torchtune PR522
 * fault: the loss is read back in every step
 * verdict: host-sync
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* A tenth of the report's 50 ms: a read of 4 bytes that waits for nearly the whole step. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        think(700 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 300 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
        if (scenario->faulty)
            read_scalar(&trainer);
    }
    trainer_destroy(&trainer);
}
