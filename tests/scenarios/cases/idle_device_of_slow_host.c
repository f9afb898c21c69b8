/*
 * source: JAX with one of two devices used, as the thread that started the project was told to mend first
 * fault: the host takes 4 ms a step to dispatch 1 ms of GPU work; a second device would have nothing to shorten
 * verdict: dispatch-bound
 * repaired: idle-device
 * config: devices 2
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 4; layer++) {
            if (scenario->faulty)
                think(1 * MS);
            launch_many(KERNEL_FORWARD, trainer.stream, 2, 125 * US);
        }
    }
    trainer_destroy(&trainer);
}
