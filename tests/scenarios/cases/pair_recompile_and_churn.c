/*
 * source: pairs of faults
 * fault: an unseen length every eighth step, and allocation in every step
 * verdict: recompile
 * every: 8
 * also: alloc-churn, lazy-load, hiccup, dispatch-bound
 * repaired: alloc-churn, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (unsigned step = 0; step < 48; step++) {
        void *workspace;
        scenario->steps++;
        if (scenario->faulty && step % 8 == 7) {
            think(15 * MS);
            kernel = load_kernel(step, &library);
        }
        upload_batch(&trainer);
        CHECK(cudaMalloc(&workspace, MIB));
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 300 * US);
        launch_loaded(kernel, trainer.stream, 400 * US);
        CHECK(cudaFree(workspace));
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    trainer_destroy(&trainer);
}
