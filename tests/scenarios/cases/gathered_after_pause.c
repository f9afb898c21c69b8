/*
 * source: marin#6304, with a pause before the gathers
 * fault: the host prepares something while the GPU idles, then small tensors are gathered one by one; repaired, at once
 * verdict: comm-tiny
 * also: dispatch-bound, device-sync, straggler, hiccup
 * repaired: dispatch-bound, device-sync, straggler, hiccup
 * config: devices 2
 * config: nccl_latency_ns 150000
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const int pieces = rank->faulty ? 16 : 1;
    const size_t count = 60 * KIB / sizeof(float) / (size_t)rank->count / (size_t)pieces;
    for (int step = 0; step < 30; step++) {
        rank_step(rank);
        CHECK(cudaStreamSynchronize(rank->trainer.stream));
        think(1500 * US);
        for (int piece = 0; piece < pieces; piece++)
            NCCL(ncclAllGather(rank->buckets, rank->buckets, count, ncclFloat, rank->comm, rank->trainer.stream));
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 50 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 100 * US);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 64 * KIB, train);
}
