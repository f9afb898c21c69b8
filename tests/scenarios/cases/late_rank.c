/*
 * source: nccl#460, pytorch#117550
 * fault: one of four ranks computes longer, the others wait for it in every collective
 * verdict: straggler, imbalance
 * also: comm-exposed
 * config: devices 4
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    const uint64_t backward_ns = rank->faulty && rank->number == rank->count / 2 ? 900 * US : 600 * US;
    for (int step = 0; step < 25; step++)
        bucketed_step(rank, backward_ns, 384 * KIB, 96 * KIB);
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 384 * KIB, train);
}
