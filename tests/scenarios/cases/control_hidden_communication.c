/*
 * source: marin#8053
 * fault: none: collectives that take most of the backward pass, all but the last beside it
 * verdict: none
 * compare: no
 * config: devices 4
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 20; step++)
        bucketed_step(rank, 600 * US, 384 * KIB, 48 * KIB);
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_THREADS, 4, 384 * KIB, train);
}
