/*
 * source: a healthy loop
 * fault: none: eight ranks in threads of one process
 * verdict: none
 * compare: no
 * config: devices 8
 * config: nccl_gbps 10
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 15; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 2, 2 * MS);
        for (unsigned bucket = 0; bucket < 2; bucket++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 4 * MS);
            all_reduce_beside(rank, bucket, bucket ? 16 * KIB : 64 * KIB);
        }
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 1 * MS);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 8, 64 * KIB, train);
}
