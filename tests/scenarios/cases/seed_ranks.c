/*
 * source: the thread that started the project
 * fault: two of sixteen devices, pageable batches, unseen lengths, reduction in each micro-step among the compute
 * verdict: idle-device
 * also: comm-redundant, comm-serialised, recompile, pageable-copy, straggler, hiccup, dispatch-bound
 * compare: no
 * config: devices 16
 * config: nccl_gbps 1
 */
#include <stdlib.h>

#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    cudaLibrary_t library;
    cudaKernel_t kernel = load_kernel(0, &library);
    unsigned char *batch = malloc(MIB);
    float *device_batch;
    CHECK(cudaMalloc((void **)&device_batch, MIB));
    for (unsigned step = 0; batch && step < 24; step++) {
        rank->scenario->steps++;
        if (step % 8 == 7) {
            think(10 * MS);
            kernel = load_kernel(step, &library);
        }
        for (int micro = 0; micro < 4; micro++) {
            think(150 * US);
            batch[0] = (unsigned char)(4 * step + (unsigned)micro);
            CHECK(cudaMemcpyAsync(device_batch, batch, MIB, cudaMemcpyHostToDevice, rank->trainer.stream));
            launch_many(KERNEL_FORWARD, rank->trainer.stream, 6, 80 * US);
            launch_loaded(kernel, rank->trainer.stream, 100 * US);
            launch_many(KERNEL_BACKWARD, rank->trainer.stream, 6, 120 * US);
            all_reduce(rank, 256 * KIB, rank->trainer.stream);
        }
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 300 * US);
    }
    CHECK(cudaFree(device_batch));
    free(batch);
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 256 * KIB, train);
}
