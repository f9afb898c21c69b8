/*
 * source: Python's garbage collection in the loop
 * fault: one step in twelve the host does 5 ms of other work
 * verdict: hiccup
 * every: 12
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 60; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 100 * US);
        if (scenario->faulty && step % 12 == 11)
            think(5 * MS);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 150 * US);
    }
    trainer_destroy(&trainer);
}
