/*
 * source: pairs of faults
 * fault: 600 launches where a graph would do with one, and the device is synchronised twice in each step
 * pair: small-kernels, device-sync
 * also: dispatch-bound
 * repaired: dispatch-bound
 * config: api_cost_ns cudaLaunchKernel 5000
 */
#include "tests/scenarios/scenario.h"

/* The graph has the same kernels. */
void run_scenario(struct scenario *scenario)
{
    enum { KERNELS = 600 };
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(trainer.stream, cudaStreamCaptureModeThreadLocal));
    launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 2 * US);
    CHECK(cudaStreamEndCapture(trainer.stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        if (scenario->second)
            CHECK(cudaDeviceSynchronize());
        if (scenario->faulty)
            launch_many(KERNEL_ELEMENTWISE, trainer.stream, KERNELS, 2 * US);
        else
            CHECK(cudaGraphLaunch(exec, trainer.stream));
        think(150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 200 * US);
        if (scenario->second)
            CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    trainer_destroy(&trainer);
}
