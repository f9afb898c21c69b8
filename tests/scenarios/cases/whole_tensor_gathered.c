/*
 * source: jax#20381
 * fault: a sharded tensor is gathered whole in every step, which takes longer than all compute; repaired, it is not
 * verdict: comm-bound
 * config: devices 2
 * config: nccl_gbps 0.5
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const size_t others = (size_t)rank->count - 1; /* each link carries the parts of all but one */
    const size_t count = 512 * KIB / sizeof(float) / others;
    for (int step = 0; step < 20; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 100 * US);
        if (rank->faulty)
            NCCL(ncclAllGather(rank->buckets + (size_t)rank->number * count, rank->buckets, count, ncclFloat,
                               rank->comm, rank->trainer.stream));
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 100 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 1024 * KIB, train);
}
