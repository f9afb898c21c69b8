/*
 * source: jax#817, #15412
 * fault: a new shape in every step: compiled and loaded each time
 * verdict: recompile
 * also: lazy-load, dispatch-bound
 * repaired: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* A twentieth of the gap of more than 100 ms. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaLibrary_t library, next;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (unsigned step = 0; step < 25; step++) {
        scenario->steps++;
        think(100 * US);
        if (scenario->faulty && step) {
            think(5 * MS);
            kernel = load_kernel(step, &next);
        }
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        launch_loaded(kernel, trainer.stream, 300 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
