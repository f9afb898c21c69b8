/*
 * source: jax#7024, on several GPUs
 * fault: the predicate of a while loop is reduced over the ranks and read on the host in every turn
 * verdict: host-sync, comm-tiny
 * also: dispatch-bound, comm-serialised, straggler, device-sync
 * compare: no
 * config: devices 2
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 12; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 200 * US);
        for (int turn = 0; turn < 81; turn++) {
            launch(KERNEL_ELEMENTWISE, rank->trainer.stream, 10 * US);
            NCCL(ncclAllReduce(rank->buckets, rank->buckets, 1, ncclUint8, ncclSum, rank->comm, rank->trainer.stream));
            read_scalar(&rank->trainer);
        }
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 300 * US);
        launch(KERNEL_NORM, rank->trainer.stream, 20 * US);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 100 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 16 * KIB, train);
}
