/*
 * source: batches of unequal length, balanced over a few steps but not within one
 * fault: the ranks take turns at computing longer
 * verdict: straggler
 * every: 2
 * also: hiccup, imbalance
 * config: devices 2
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

/* Many steps: the first and the last few have nothing to save, since the host is ahead of the devices. */
static void train(struct rank *rank)
{
    for (int step = 0; step < 60; step++) {
        const bool is_late = rank->faulty && step % rank->count == rank->number;
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, is_late ? 500 * US : 300 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 500 * US);
        all_reduce_beside(rank, 0, 256 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 2, 256 * KIB, train);
}
