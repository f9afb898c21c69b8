/*
 * source: lazy loading (CUDA_MODULE_LOADING=LAZY, the default) with code paths that are first met in the loop
 * fault: every fourth step launches a kernel that was not used before
 * verdict: lazy-load
 * every: 4
 * config: lazy_load_ns 2500000
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    launch_trial(0, trainer.stream, 20 * US);
    for (unsigned step = 0; step < 4 * TRIAL_KERNELS; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 40 * US);
        launch_trial(scenario->faulty ? step / 4 : 0, trainer.stream, 20 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 40 * US);
    }
    trainer_destroy(&trainer);
}
