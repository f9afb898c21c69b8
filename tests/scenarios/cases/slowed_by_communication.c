/*
 * source: compute beside collectives that take multiprocessors and bandwidth
 * fault: kernels that start while communication runs take half as long again
 * verdict: comm-contention
 * config: devices 2
 * config: nccl_gbps 1
 * config: contention 1.5
 */
#include "tests/scenarios/ranks.h"

/* The simulated GPU slows every kernel beside communication; repaired, they are given that much less to do. */
static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 300 * US);
        all_reduce_beside(rank, 0, 1024 * KIB);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, rank->faulty ? 300 * US : 200 * US);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 1024 * KIB, train);
}
