/*
 * source: overlap that was never switched on
 * fault: all buckets are reduced after the whole backward pass, on a stream of their own
 * verdict: comm-exposed
 * config: devices 4
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 40; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        for (unsigned bucket = 0; bucket < 4; bucket++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 600 * US);
            if (!rank->faulty)
                all_reduce_beside(rank, bucket, 192 * KIB);
        }
        for (unsigned bucket = 0; bucket < 4 && rank->faulty; bucket++)
            all_reduce_beside(rank, bucket, 192 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 4, 192 * KIB, train);
}
