/*
 * source: a batch split three to one, by ranks that reduce
 * fault: one of four ranks has twice the work of the others; repaired, each has the mean
 * verdict: imbalance
 * also: straggler
 * config: devices 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const unsigned late = (unsigned)rank->count / 2, ranks = (unsigned)rank->count;
    const uint64_t share = !rank->faulty ? 5 : (unsigned)rank->number == late ? 4 + ranks : 4;
    for (int step = 0; step < 30; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 8, share * 25 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 8, share * 50 * US);
        all_reduce_beside(rank, 0, 64 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 100 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 64 * KIB, train);
}
