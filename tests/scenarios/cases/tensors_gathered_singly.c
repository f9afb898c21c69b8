/*
 * source: marin#6304
 * fault: each of 583 tensors is gathered by itself before the kernel that uses it
 * verdict: comm-tiny
 * also: comm-serialised
 * config: devices 2
 * config: nccl_latency_ns 500000
 */
#include "tests/scenarios/ranks.h"

#define TENSORS 583
#define TENSOR_BYTES (8 * KIB)

static void gather(struct rank *rank, size_t bytes)
{
    const size_t count = bytes / sizeof(float) / (size_t)rank->count;
    NCCL(ncclAllGather(rank->buckets + (size_t)rank->number * count, rank->buckets, count, ncclFloat, rank->comm,
                       rank->trainer.stream));
}

static void train(struct rank *rank)
{
    for (int step = 0; step < 8; step++) {
        rank_step(rank);
        if (!rank->faulty)
            gather(rank, TENSORS * TENSOR_BYTES);
        for (int tensor = 0; tensor < TENSORS; tensor++) {
            if (rank->faulty)
                gather(rank, TENSOR_BYTES);
            launch(KERNEL_FORWARD, rank->trainer.stream, 10 * US);
        }
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 300 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, TENSORS * TENSOR_BYTES, train);
}
