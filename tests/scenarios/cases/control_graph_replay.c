/*
 * source: TraceLens#728
 * fault: none: a graph of two branches, busy although sums say otherwise
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaStream_t side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(trainer.stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, trainer.stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    launch_many(KERNEL_FORWARD, trainer.stream, 10, 100 * US);
    launch_many(KERNEL_ATTENTION, side, 10, 80 * US);
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(trainer.stream, join, 0));
    launch_many(KERNEL_BACKWARD, trainer.stream, 10, 100 * US);
    CHECK(cudaStreamEndCapture(trainer.stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        CHECK(cudaGraphLaunch(exec, trainer.stream));
    }
    trainer_destroy(&trainer);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(side));
}
