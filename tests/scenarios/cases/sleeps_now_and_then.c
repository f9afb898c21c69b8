/*
 * source: a log that is flushed to a slow disk
 * fault: one step in fifteen the dispatching thread sleeps for 9 ms in its middle
 * verdict: hiccup
 * every: 15
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 75; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 150 * US);
        if (scenario->faulty && step % 15 == 14)
            rest(9 * MS);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 200 * US);
    }
    trainer_destroy(&trainer);
}
