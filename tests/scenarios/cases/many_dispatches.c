/*
 * source: dion PR63
 * fault: 120 dispatches that take the host ten times what they take the GPU
 * verdict: dispatch-bound
 * also: small-kernels
 * repaired: small-kernels, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* Fewer than the report's 900 dispatches: 138 ms of the host against 13 of the GPU. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 12; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int i = 0; i < 120; i++) {
            if (scenario->faulty)
                think(100 * US);
            launch(i % 3 ? KERNEL_ELEMENTWISE : KERNEL_OPTIMIZER, trainer.stream, 10 * US);
        }
    }
    trainer_destroy(&trainer);
}
