/*
 * source: nccl#814
 * fault: ranks reduce in pairs, one of which has a slow link; repaired, the pairs are others
 * verdict: comm-slow-link
 * also: comm-bound
 * least: 4
 * config: devices 4
 * config: nccl_gbps 4
 * config: link 0 1 2
 * config: link 2 3 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    ncclComm_t all = rank->comm;
    NCCL(ncclCommSplit(all, rank->faulty ? rank->number / 2 : rank->number % (rank->count / 2), rank->number,
                       &rank->comm, NULL));
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 400 * US);
        CHECK(cudaEventRecord(rank->computed[0], rank->trainer.stream));
        CHECK(cudaStreamWaitEvent(rank->communication, rank->computed[0], 0));
        NCCL(ncclAllReduce(rank->buckets, rank->buckets, 512 * KIB / sizeof(float), ncclFloat, ncclSum, rank->comm,
                           rank->communication));
        /* Then all agree whether the step was a good one. */
        NCCL(ncclAllReduce(rank->buckets, rank->buckets, 1, ncclFloat, ncclSum, all, rank->communication));
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
    NCCL(ncclCommDestroy(rank->comm));
    rank->comm = all;
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 512 * KIB, train);
}
