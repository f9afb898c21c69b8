/*
 * source: keys_values PR105
 * fault: 1801 launches where a graph would do with one
 * verdict: small-kernels
 * also: dispatch-bound
 * repaired: dispatch-bound
 * config: api_cost_ns cudaLaunchKernel 36000
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    enum { KERNELS = 1801 };
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaGraph_t graph;
    cudaGraphExec_t fused;
    CHECK(cudaStreamBeginCapture(trainer.stream, cudaStreamCaptureModeThreadLocal));
    launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 21500);
    CHECK(cudaStreamEndCapture(trainer.stream, &graph));
    CHECK(cudaGraphInstantiate(&fused, graph, 0));
    for (int step = 0; step < 8; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch(KERNEL_ATTENTION, trainer.stream, 300 * US);
        if (scenario->faulty)
            launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 21500);
        else
            CHECK(cudaGraphLaunch(fused, trainer.stream));
        launch(KERNEL_OPTIMIZER, trainer.stream, 300 * US);
    }
    CHECK(cudaGraphExecDestroy(fused));
    CHECK(cudaGraphDestroy(graph));
    trainer_destroy(&trainer);
}
