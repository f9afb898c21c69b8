/*
 * source: gradients flattened into one tensor
 * fault: all gradients are reduced in one piece after the backward pass
 * unknown: comm-exposed
 * compare: no
 * config: devices 2
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 60; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        for (unsigned bucket = 0; bucket < 4; bucket++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 600 * US);
            if (!rank->faulty)
                all_reduce_beside(rank, bucket, 128 * KIB);
        }
        if (rank->faulty)
            all_reduce_beside(rank, 0, 512 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 2, 512 * KIB, train);
}
