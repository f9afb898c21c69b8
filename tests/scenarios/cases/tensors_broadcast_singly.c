/*
 * source: pytorch#3930
 * fault: 300 tensors of 14 KB are broadcast singly (there 3,000, ten times as fast), for 34 ms; repaired, at once
 * verdict: comm-tiny
 * config: devices 2
 * config: nccl_gbps 10.5
 * config: nccl_latency_ns 112000
 */
#include "tests/scenarios/ranks.h"

#define TENSORS 300
#define TENSOR_BYTES ((size_t)14336)

static void train(struct rank *rank)
{
    const size_t pieces = rank->faulty ? TENSORS : 1;
    const size_t count = TENSORS * TENSOR_BYTES / pieces / sizeof(float);
    for (int step = 0; step < 8; step++) {
        rank_step(rank);
        for (size_t piece = 0; piece < pieces; piece++) {
            float *part = rank->buckets + piece * count;
            NCCL(ncclBroadcast(part, part, count, ncclFloat, 0, rank->comm, rank->trainer.stream));
        }
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 8, 1 * MS);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 8, 2 * MS);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 1 * MS);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, TENSORS * TENSOR_BYTES, train);
}
