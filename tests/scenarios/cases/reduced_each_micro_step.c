/*
 * source: pytorch#43201
 * fault: gradients are reduced after each of four micro-steps, not once before the parameter update
 * verdict: comm-redundant
 * also: comm-exposed
 * config: devices 2
 * config: nccl_gbps 0.5
 */
#include "tests/scenarios/ranks.h"

static void micro_step(struct rank *rank, bool reduces)
{
    upload_batch(&rank->trainer);
    launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 100 * US);
    for (unsigned bucket = 0; bucket < 2; bucket++) {
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 2, 150 * US);
        if (reduces)
            all_reduce_beside(rank, bucket, 128 * KIB);
    }
    if (reduces)
        join_communication(rank);
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++) {
        rank->scenario->steps++;
        for (int micro = 0; micro < 4; micro++)
            micro_step(rank, rank->faulty || micro == 3);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 128 * KIB, train);
}
