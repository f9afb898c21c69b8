/*
 * source: nccl#725
 * fault: 980 tensors of 21 MB in all are reduced and scattered one by one, in 116 ms; repaired, at once in 1.6 ms
 * verdict: comm-tiny
 * config: devices 2
 * config: nccl_gbps 7
 * config: nccl_latency_ns 117000
 */
#include "tests/scenarios/ranks.h"

#define TENSORS 980
#define TENSOR_BYTES ((size_t)21504)

static void train(struct rank *rank)
{
    const size_t pieces = rank->faulty ? TENSORS : 1;
    const size_t count = TENSORS * TENSOR_BYTES / pieces / sizeof(float) / (size_t)rank->count;
    for (int step = 0; step < 8; step++) {
        rank_step(rank);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 8, 1 * MS);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 8, 2 * MS);
        for (size_t piece = 0; piece < pieces; piece++) {
            float *part = rank->buckets + piece * count * (size_t)rank->count;
            NCCL(ncclReduceScatter(part, part + (size_t)rank->number * count, count, ncclFloat, ncclSum, rank->comm,
                                   rank->trainer.stream));
        }
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 1 * MS);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, TENSORS * TENSOR_BYTES, train);
}
