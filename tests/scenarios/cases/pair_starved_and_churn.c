/*
 * source: pairs of faults
 * fault: the thread that dispatches reads each batch from a disk, and allocates and releases memory in every step
 * pair: input-starved, alloc-churn
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    void *workspace;
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        if (scenario->faulty)
            rest(1500 * US);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 120 * US);
        if (scenario->second) {
            CHECK(cudaMalloc(&workspace, MIB));
            launch(KERNEL_NORM, trainer.stream, 20 * US);
            CHECK(cudaFree(workspace));
        } else {
            launch(KERNEL_NORM, trainer.stream, 20 * US);
        }
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 120 * US);
    }
    trainer_destroy(&trainer);
}
