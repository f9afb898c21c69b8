/*
 * source: pairs of faults
 * fault: gradients are reduced on the compute stream, and one of four ranks is late
 * pair: comm-serialised, straggler
 * also: imbalance, comm-exposed
 * config: devices 4
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const uint64_t backward_ns = rank->scenario->second && rank->number == 1 ? 700 * US : 600 * US;
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        for (unsigned bucket = 0; bucket < 4; bucket++) {
            const size_t bytes = bucket < 3 ? 256 * KIB : 64 * KIB;
            launch(KERNEL_BACKWARD, rank->trainer.stream, backward_ns);
            if (rank->faulty)
                all_reduce(rank, bytes, rank->trainer.stream);
            else
                all_reduce_beside(rank, bucket, bytes);
        }
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 256 * KIB, train);
}
