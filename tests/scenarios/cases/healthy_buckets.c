/*
 * source: gradients in buckets of one size, as frameworks make them
 * fault: none: each bucket is reduced once a step, beside compute
 * verdict: none
 * compare: no
 * config: devices 2
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 30; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 6, 100 * US);
        for (unsigned bucket = 0; bucket < 2; bucket++) {
            launch_many(KERNEL_BACKWARD, rank->trainer.stream, 6, 100 * US);
            all_reduce_beside(rank, bucket, 128 * KIB);
        }
        launch_many(KERNEL_WEIGHT_GRADIENT, rank->trainer.stream, 2, 150 * US);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 100 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 256 * KIB, train);
}
