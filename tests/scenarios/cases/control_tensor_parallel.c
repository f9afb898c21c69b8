/*
 * source: layers split over ranks, as Megatron-LM has them
 * fault: none: the next layer needs the sum over the ranks, on the same stream
 * unknown: comm-serialised
 * compare: no
 * config: devices 2
 * config: nccl_gbps 1
 */
#include "tests/scenarios/ranks.h"

#define LAYERS 3

/* Two reductions a layer, in the forward and in the backward pass. */
static void train(struct rank *rank)
{
    const size_t bytes = 64 * KIB;
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        for (int layer = 0; layer < LAYERS; layer++) {
            launch(KERNEL_ATTENTION, rank->trainer.stream, 200 * US);
            all_reduce(rank, bytes, rank->trainer.stream);
            launch(KERNEL_FORWARD, rank->trainer.stream, 250 * US);
            all_reduce(rank, bytes, rank->trainer.stream);
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            launch(KERNEL_BACKWARD, rank->trainer.stream, 500 * US);
            all_reduce(rank, bytes, rank->trainer.stream);
            launch(KERNEL_WEIGHT_GRADIENT, rank->trainer.stream, 400 * US);
            all_reduce(rank, bytes, rank->trainer.stream);
        }
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 64 * KIB, train);
}
