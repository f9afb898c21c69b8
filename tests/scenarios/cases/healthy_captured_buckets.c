/*
 * source: data-parallel steps captured in graphs
 * fault: none: each bucket is reduced beside compute, on a branch of the one graph that is a step
 * verdict: none
 * compare: no
 * config: devices 2
 * config: nccl_gbps 2
 */
#include "tests/scenarios/ranks.h"

static cudaGraphExec_t capture_step(struct rank *rank)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(rank->trainer.stream, cudaStreamCaptureModeThreadLocal));
    launch_many(KERNEL_FORWARD, rank->trainer.stream, 6, 100 * US);
    for (unsigned bucket = 0; bucket < 3; bucket++) {
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 100 * US);
        all_reduce_beside(rank, bucket, 128 * KIB);
    }
    join_communication(rank);
    launch(KERNEL_OPTIMIZER, rank->trainer.stream, 100 * US);
    CHECK(cudaStreamEndCapture(rank->trainer.stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void train(struct rank *rank)
{
    cudaGraphExec_t exec = capture_step(rank);
    for (int step = 0; step < 30; step++) {
        rank_step(rank);
        CHECK(cudaGraphLaunch(exec, rank->trainer.stream));
    }
    CHECK(cudaStreamSynchronize(rank->trainer.stream));
    CHECK(cudaGraphExecDestroy(exec));
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 384 * KIB, train);
}
