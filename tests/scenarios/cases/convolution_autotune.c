/*
 * source: pytorch#2759
 * fault: algorithms are tried out at every new size
 * verdict: autotune
 * every: 10
 * also: alloc-churn, hiccup, device-sync, lazy-load, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* A tenth of the report's 22 ms, and of the 0.6 s of a trial. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned trial = 0;
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        if (scenario->faulty && step % 10 == 4 && trial < TRIAL_KERNELS) {
            for (int i = 0; i < 6; i++) {
                void *workspace;
                CHECK(cudaMalloc(&workspace, 8 * MIB));
                launch_trial(trial++, trainer.stream, 1500 * US);
                CHECK(cudaStreamSynchronize(trainer.stream));
                CHECK(cudaFree(workspace));
            }
        }
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 200 * US);
    }
    trainer_destroy(&trainer);
}
