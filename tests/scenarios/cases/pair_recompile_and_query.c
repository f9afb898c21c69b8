/*
 * source: pairs of faults
 * fault: an unseen length every eighth step, and the device is asked for its properties in every step
 * pair: recompile, slow-query
 * every: 8
 * also: dispatch-bound, lazy-load
 * config: api_cost_ns cudaGetDeviceProperties* 1000000
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    struct cudaDeviceProp properties;
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (unsigned step = 0; step < 48; step++) {
        scenario->steps++;
        if (scenario->faulty && step % 8 == 7) {
            think(10 * MS);
            kernel = load_kernel(step, &library);
        }
        if (scenario->second)
            CHECK(cudaGetDeviceProperties(&properties, 0));
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 60 * US);
        launch_loaded(kernel, trainer.stream, 100 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
