/*
 * source: a healthy loop
 * fault: none: workspaces from a memory pool
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        void *workspace;
        scenario->steps++;
        upload_batch(&trainer);
        CHECK(cudaMallocAsync(&workspace, MIB, trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 80 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 160 * US);
        CHECK(cudaFreeAsync(workspace, trainer.stream));
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
