/*
 * source: marin#8053
 * fault: none: collectives that take most of the backward pass, all but the last beside it
 * verdict: none
 * compare: no
 * config: devices 4
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        for (unsigned bucket = 0; bucket < 4; bucket++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 600 * US);
            all_reduce_beside(rank, bucket, bucket < 3 ? 384 * KIB : 48 * KIB);
        }
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 4, 256 * KIB, train);
}
