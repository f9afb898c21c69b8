/*
 * source: ultralytics#24410, without accumulation
 * fault: buffers are broadcast at the head of each step; whether they changed is on the devices
 * unknown: comm-redundant
 * config: devices 2
 * config: nccl_gbps 1.6
 */
#include "tests/scenarios/ranks.h"

/* What batch normalisation keeps: as many buffers as it has layers, flattened into one. */
static void broadcast_buffers(struct rank *rank)
{
    CHECK(cudaEventRecord(rank->computed[0], rank->trainer.stream));
    CHECK(cudaStreamWaitEvent(rank->communication, rank->computed[0], 0));
    NCCL(ncclBroadcast(rank->buckets, rank->buckets, 64 * KIB / sizeof(float), ncclFloat, 0, rank->comm,
                       rank->communication));
    join_communication(rank);
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 40; step++) {
        rank_step(rank);
        if (rank->faulty)
            broadcast_buffers(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 110 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 3, 200 * US);
        all_reduce_beside(rank, 1, 16 * KIB);
        launch(KERNEL_BACKWARD, rank->trainer.stream, 200 * US);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 64 * KIB, train);
}
