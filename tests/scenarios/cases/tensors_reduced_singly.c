/*
 * source: nccl#725, pytorch#3930
 * fault: 48 small tensors are reduced one by one
 * verdict: comm-tiny
 * config: devices 2
 * config: nccl_latency_ns 60000
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const int pieces = rank->faulty ? 48 : 1;
    for (int step = 0; step < 20; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 200 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 400 * US);
        for (int piece = 0; piece < pieces; piece++)
            all_reduce_beside(rank, (unsigned)piece, 256 * KIB / (size_t)pieces);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 256 * KIB, train);
}
