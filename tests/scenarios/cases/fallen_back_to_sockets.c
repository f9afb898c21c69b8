/*
 * source: AReaL#639
 * fault: the network fell back to sockets: the links give a seventh of what they should
 * verdict: comm-slow-link
 * also: comm-bound
 * compare: no
 * config: devices 2
 * config: nccl_gbps 0.6
 * report: --link-gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 100 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 200 * US);
        all_reduce_beside(rank, 0, 1024 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 1024 * KIB, train);
}
