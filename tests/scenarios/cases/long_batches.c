/*
 * source: a batch of unusual length now and then
 * fault: one step in sixteen computes six times as long
 * verdict: hiccup
 * every: 16
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 80; step++) {
        const unsigned length = scenario->faulty && step % 16 == 15 ? 6 : 1;
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, length * 100 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, length * 150 * US);
    }
    trainer_destroy(&trainer);
}
