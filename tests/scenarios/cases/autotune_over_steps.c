/*
 * source: pytorch#2759
 * fault: one algorithm is tried out at a time, in ten steps
 * verdict: autotune
 * every: 4
 * also: alloc-churn, hiccup, device-sync, lazy-load, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned trial = 0;
    for (int step = 0; step < 44; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        if (scenario->faulty && step % 4 == 3) {
            void *workspace;
            CHECK(cudaMalloc(&workspace, 8 * MIB));
            launch_trial(trial++, trainer.stream, 3000 * US);
            CHECK(cudaStreamSynchronize(trainer.stream));
            CHECK(cudaFree(workspace));
        }
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 200 * US);
    }
    trainer_destroy(&trainer);
}
