/*
 * source: the thread that started the project
 * fault: all at once: pageable batches, unseen lengths, a loop of micro-steps, three of four devices idle
 * verdict: idle-device
 * also: recompile, pageable-copy, imbalance, hiccup, lazy-load, dispatch-bound, stream-serialised
 * compare: no
 * config: devices 4
 */
#include "tests/scenarios/scenario.h"

/* A 10 ms step, on one process. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(4 * MIB, false);
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    for (int device = 1; device < 4; device++) {
        void *parameters;
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&parameters, 4 * MIB));
    }
    CHECK(cudaSetDevice(0));
    for (unsigned step = 0; step < 30; step++) {
        scenario->steps++;
        if (step % 10 == 9) {
            think(20 * MS);
            kernel = load_kernel(step, &library);
        }
        for (int micro = 0; micro < 4; micro++) {
            think(150 * US);
            upload_batch(&trainer);
            launch_many(KERNEL_FORWARD, trainer.stream, 6, 80 * US);
            launch_loaded(kernel, trainer.stream, 100 * US);
            launch_many(KERNEL_BACKWARD, trainer.stream, 6, 120 * US);
            launch(KERNEL_REDUCE, trainer.stream, 150 * US);
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 300 * US);
    }
    trainer_destroy(&trainer);
}
