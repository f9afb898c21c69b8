/*
 * source: geti PR5958
 * fault: the step waits for its batch twice as long as it computes
 * verdict: input-starved
 */
#include "tests/scenarios/scenario.h"

/* A batch every 217 ms where a step takes 100, scaled by 70: a thread makes batches, the loop takes them. */
void run_scenario(struct scenario *scenario)
{
    struct loader loader = {.period_ns = scenario->faulty ? 3100 * US : 500 * US};
    struct trainer trainer = trainer_create(32 * KIB, true);
    start_loader(&loader);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        take_batch(&loader);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 100 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 100 * US);
    }
    stop_loader(&loader);
    trainer_destroy(&trainer);
}
