/*
 * source: nccl#460
 * fault: one rank alone waits for its GPU and writes a file in each step, the others wait for it
 * verdict: straggler, device-sync, host-blocked
 * also: comm-exposed
 * config: devices 4
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 500 * US);
        if (rank->faulty && rank->number == 0) {
            CHECK(cudaStreamSynchronize(rank->trainer.stream));
            rest(1500 * US);
        }
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 500 * US);
        all_reduce(rank, 64 * KIB, rank->trainer.stream);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 256 * KIB, train);
}
