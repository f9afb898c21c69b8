/*
 * source: a rank that logs
 * fault: one of two ranks waits for its GPU and sleeps in the middle of a step, the other has no call like it
 * verdict: straggler
 * also: device-sync, host-blocked, hiccup
 * config: devices 2
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 40; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 400 * US);
        if (rank->faulty && rank->number == 1) {
            CHECK(cudaStreamSynchronize(rank->trainer.stream));
            rest(3 * MS); /* another process has the disk, say */
        }
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 500 * US);
        all_reduce_beside(rank, 0, 256 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 256 * KIB, train);
}
