/*
 * source: a pipeline of two stages
 * fault: as many micro-batches as stages fill it badly; repaired there are twice as many of half the size
 * verdict: pipeline-bubble
 * repaired: pipeline-bubble
 * config: devices 2
 * config: nccl_latency_ns 2000
 */
#include "tests/scenarios/ranks.h"

#define PIECE_BYTES (16 * KIB)

static void receive(struct rank *rank, int from)
{
    if (from >= 0 && from < rank->count)
        NCCL(ncclRecv(rank->buckets, PIECE_BYTES / sizeof(float), ncclFloat, from, rank->comm, rank->trainer.stream));
}

static void send(struct rank *rank, int to)
{
    if (to >= 0 && to < rank->count)
        NCCL(ncclSend(rank->buckets, PIECE_BYTES / sizeof(float), ncclFloat, to, rank->comm, rank->trainer.stream));
}

/* All forward passes, then all backward ones; the stages are equal. */
static void train(struct rank *rank)
{
    const int pieces = rank->faulty ? rank->count : 2 * rank->count, before = rank->number - 1,
              after = rank->number + 1;
    const uint64_t forward_ns = 1600 * US / (uint64_t)pieces, backward_ns = 2 * forward_ns;
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        for (int piece = 0; piece < pieces; piece++) {
            receive(rank, before);
            launch(KERNEL_FORWARD, rank->trainer.stream, forward_ns);
            send(rank, after);
        }
        for (int piece = 0; piece < pieces; piece++) {
            receive(rank, after);
            launch(KERNEL_BACKWARD, rank->trainer.stream, backward_ns);
            send(rank, before);
        }
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, PIECE_BYTES, train);
}
