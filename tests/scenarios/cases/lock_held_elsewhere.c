/*
 * source: a dispatching thread that waits for Python's lock
 * fault: in the middle of each step the dispatching thread sleeps until another thread lets it go on
 * verdict: host-blocked
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct loader turns = {.period_ns = 1200 * US};
    struct trainer trainer = trainer_create(32 * KIB, true);
    start_loader(&turns);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 50 * US);
        if (scenario->faulty)
            take_batch(&turns);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 100 * US);
    }
    stop_loader(&turns);
    trainer_destroy(&trainer);
}
