/*
 * source: pytorch#120934
 * fault: the learning rate is a constant of the code: eight compilations, then op by op
 * verdict: dispatch-bound, recompile
 * also: small-kernels, lazy-load, hiccup
 * repaired: small-kernels
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (unsigned step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 16, 50 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 16, 60 * US);
        if (step >= 8 && step < 16) {
            think(6 * MS);
            kernel = load_kernel(step, &library);
        }
        if (step < 16) {
            launch_loaded(kernel, trainer.stream, 100 * US);
            continue;
        }
        for (int parameter = 0; parameter < 16; parameter++) {
            think(200 * US);
            launch(KERNEL_ELEMENTWISE, trainer.stream, 10 * US);
        }
    }
    trainer_destroy(&trainer);
}
