/*
 * source: a short run of a program that compiles for long
 * fault: compilation takes 1.2 s before a loop of 0.1 s
 * verdict: compile-warmup
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaLibrary_t library;
    cudaKernel_t kernel;
    think(1200 * MS);
    kernel = load_kernel(0, &library);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 200 * US);
        launch_loaded(kernel, trainer.stream, 400 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 200 * US);
    }
    trainer_destroy(&trainer);
}
