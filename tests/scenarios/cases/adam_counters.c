/*
 * source: UniRL PR441
 * fault: the step counter of every parameter is read from the GPU
 * verdict: host-sync
 * also: dispatch-bound, small-kernels, tiny-copies
 * repaired: dispatch-bound, small-kernels
 */
#include "tests/scenarios/scenario.h"

/* An eighth of the 512 parameters. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 10; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 1500 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 3000 * US);
        for (int parameter = 0; parameter < 512; parameter++) {
            if (scenario->faulty)
                read_scalar(&trainer);
            launch(KERNEL_OPTIMIZER, trainer.stream, 5 * US);
        }
    }
    trainer_destroy(&trainer);
}
