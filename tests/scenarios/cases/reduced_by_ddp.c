/*
 * source: pytorch#43201, as DistributedDataParallel runs it
 * fault: buckets are reduced in each of four micro-steps; the first adds no gradients, a loss is averaged once
 * verdict: comm-redundant
 * also: comm-exposed
 * config: devices 2
 * config: nccl_gbps 0.5
 */
#include "tests/scenarios/ranks.h"

static void micro_step(struct rank *rank, bool is_first, bool reduces)
{
    cudaStream_t compute = rank->trainer.stream;
    upload_batch(&rank->trainer);
    launch_many(KERNEL_FORWARD, compute, 4, 100 * US);
    for (unsigned bucket = 0; bucket < 3; bucket++) {
        launch_many(KERNEL_BACKWARD, compute, 2, 80 * US);
        if (!is_first)
            launch(KERNEL_ELEMENTWISE, compute, 20 * US);
        if (reduces)
            all_reduce_beside(rank, bucket, (bucket ? 96 : 32) * KIB);
    }
    if (reduces) {
        join_communication(rank);
        launch(KERNEL_NORM, compute, 10 * US);
    }
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++) {
        rank->scenario->steps++;
        for (int micro = 0; micro < 4; micro++)
            micro_step(rank, micro == 0, rank->faulty || micro == 3);
        all_reduce(rank, sizeof(float), rank->trainer.stream);
        launch_many(KERNEL_OPTIMIZER, rank->trainer.stream, 2, 100 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 128 * KIB, train);
}
