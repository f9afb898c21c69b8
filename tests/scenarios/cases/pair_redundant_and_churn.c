/*
 * source: pairs of faults
 * fault: gradients are reduced after each of four micro-steps, and memory is allocated and released in each
 * pair: comm-redundant, alloc-churn
 * also: comm-exposed, host-blocked, straggler
 * config: devices 2
 * config: nccl_gbps 0.5
 */
#include "tests/scenarios/ranks.h"

static void micro_step(struct rank *rank, bool reduces)
{
    cudaStream_t compute = rank->trainer.stream;
    void *workspace;
    upload_batch(&rank->trainer);
    if (rank->scenario->second)
        CHECK(cudaMalloc(&workspace, MIB));
    launch_many(KERNEL_FORWARD, compute, 4, 300 * US);
    if (rank->scenario->second)
        CHECK(cudaFree(workspace));
    rest(300 * US);
    launch_many(KERNEL_BACKWARD, compute, 4, 450 * US);
    if (reduces) {
        all_reduce_beside(rank, 0, 384 * KIB);
        join_communication(rank);
    }
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++) {
        rank->scenario->steps++;
        for (int micro = 0; micro < 4; micro++)
            micro_step(rank, rank->faulty || micro == 3);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 600 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 384 * KIB, train);
}
