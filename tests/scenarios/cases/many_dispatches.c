/*
 * source: dion PR63
 * fault: 900 dispatches that take the host ten times what they take the GPU
 * verdict: dispatch-bound
 * also: small-kernels
 * repaired: small-kernels, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* As reported: 138 ms of the host against 13 of the GPU. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 8; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int i = 0; i < 900; i++) {
            if (scenario->faulty)
                think(150 * US);
            launch(i % 3 ? KERNEL_ELEMENTWISE : KERNEL_OPTIMIZER, trainer.stream, 14 * US);
        }
    }
    trainer_destroy(&trainer);
}
