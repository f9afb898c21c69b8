/*
 * source: a healthy loop
 * fault: none: four ranks in processes that reduce each bucket beside the backward pass
 * verdict: none
 * compare: no
 * config: devices 4
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        for (unsigned bucket = 0; bucket < 4; bucket++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 600 * US);
            all_reduce_beside(rank, bucket, bucket < 3 ? 384 * KIB : 96 * KIB);
        }
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 256 * KIB, train);
}
