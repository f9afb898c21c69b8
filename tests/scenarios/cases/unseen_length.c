/*
 * source: keras#20369
 * fault: every eighth step meets a length not seen before
 * verdict: recompile
 * every: 8
 * also: dispatch-bound, lazy-load, hiccup
 * repaired: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* A hundredth of 1.5 s, where a step takes 2 ms. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (unsigned step = 0; step < 48; step++) {
        scenario->steps++;
        think(100 * US);
        if (scenario->faulty && step % 8 == 7) {
            think(15 * MS);
            kernel = load_kernel(step, &library);
        }
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 300 * US);
        launch_loaded(kernel, trainer.stream, 400 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    trainer_destroy(&trainer);
}
