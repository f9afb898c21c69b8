/*
 * source: keys_values PR105
 * fault: 900 launches where a graph would do with one
 * verdict: small-kernels
 * also: dispatch-bound
 * repaired: dispatch-bound
 * config: api_cost_ns cudaLaunchKernel 3000
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    enum { KERNELS = 900 };
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaGraph_t graph;
    cudaGraphExec_t fused;
    CHECK(cudaStreamBeginCapture(trainer.stream, cudaStreamCaptureModeThreadLocal));
    launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 2 * US);
    CHECK(cudaStreamEndCapture(trainer.stream, &graph));
    CHECK(cudaGraphInstantiate(&fused, graph, 0));
    for (int step = 0; step < 15; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch(KERNEL_ATTENTION, trainer.stream, 300 * US);
        if (scenario->faulty)
            launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 2 * US);
        else
            CHECK(cudaGraphLaunch(fused, trainer.stream));
        launch(KERNEL_OPTIMIZER, trainer.stream, 300 * US);
    }
    CHECK(cudaGraphExecDestroy(fused));
    CHECK(cudaGraphDestroy(graph));
    trainer_destroy(&trainer);
}
