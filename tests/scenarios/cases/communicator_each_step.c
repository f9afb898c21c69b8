/*
 * source: jax#606
 * fault: a communicator is made for the reduction of each step
 * verdict: comm-init
 * also: straggler
 * config: devices 2
 * config: api_cost_ns ncclCommSplit 3000000
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    ncclComm_t all = rank->comm, own = NULL;
    NCCL(ncclCommSplit(all, 0, rank->number, &own, NULL));
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        if (rank->faulty) {
            NCCL(ncclCommDestroy(own));
            NCCL(ncclCommSplit(all, 0, rank->number, &own, NULL));
        }
        rank->comm = own;
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 400 * US);
        all_reduce_beside(rank, 0, 64 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
    NCCL(ncclCommDestroy(own));
    rank->comm = all;
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 64 * KIB, train);
}
