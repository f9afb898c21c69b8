/*
 * source: a pipeline of two stages
 * fault: two micro-batches fill it badly; repaired there are four of half the size
 * verdict: pipeline-bubble
 * repaired: pipeline-bubble
 * config: devices 2
 * config: nccl_latency_ns 2000
 */
#include "tests/scenarios/ranks.h"

#define PIECE_BYTES (16 * KIB)

static void pass(struct rank *rank, bool sends)
{
    const size_t count = PIECE_BYTES / sizeof(float);
    const int other = 1 - rank->number;
    if (sends)
        NCCL(ncclSend(rank->buckets, count, ncclFloat, other, rank->comm, rank->trainer.stream));
    else
        NCCL(ncclRecv(rank->buckets, count, ncclFloat, other, rank->comm, rank->trainer.stream));
}

/* All forward passes, then all backward ones; the stages are equal. */
static void train(struct rank *rank)
{
    const int pieces = rank->faulty ? 2 : 4;
    const uint64_t forward_ns = 1600 * US / (uint64_t)pieces, backward_ns = 2 * forward_ns;
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        for (int piece = 0; piece < pieces; piece++) {
            if (rank->number == 1)
                pass(rank, false);
            launch(KERNEL_FORWARD, rank->trainer.stream, forward_ns);
            if (rank->number == 0)
                pass(rank, true);
        }
        for (int piece = 0; piece < pieces; piece++) {
            if (rank->number == 0)
                pass(rank, false);
            launch(KERNEL_BACKWARD, rank->trainer.stream, backward_ns);
            if (rank->number == 1)
                pass(rank, true);
        }
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, PIECE_BYTES, train);
}
