/*
 * source: a healthy loop
 * fault: none: two ranks in threads that reduce each bucket beside the backward pass
 * verdict: none
 * compare: no
 * config: devices 2
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++)
        bucketed_step(rank, 600 * US, 256 * KIB, 64 * KIB);
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 2, 256 * KIB, train);
}
