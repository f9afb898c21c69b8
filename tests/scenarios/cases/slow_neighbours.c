/*
 * source: nccl#814
 * fault: ranks exchange with their neighbours in a ring, two of which have a slow link; repaired, the ring is another
 * verdict: comm-slow-link
 * also: comm-bound
 * least: 4
 * config: devices 4
 * config: nccl_gbps 4
 * config: link 0 1 0.5
 */
#include "tests/scenarios/ranks.h"

/* Place of a rank in the ring, and who is there. */
static int place_in_ring(const struct rank *rank, int value)
{
    return rank->faulty || value == 0 || value > 2 ? value : 3 - value;
}

static void exchange(struct rank *rank, size_t bytes)
{
    int place = place_in_ring(rank, rank->number);
    int next = place_in_ring(rank, (place + 1) % rank->count);
    int last = place_in_ring(rank, (place + rank->count - 1) % rank->count);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(rank->buckets, bytes, ncclChar, next, rank->comm, rank->trainer.stream));
    NCCL(ncclRecv((char *)rank->buckets + bytes, bytes, ncclChar, last, rank->comm, rank->trainer.stream));
    NCCL(ncclGroupEnd());
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        exchange(rank, 512 * KIB);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 500 * US);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 4, 1 * MIB, train);
}
