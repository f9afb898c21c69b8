/*
 * source: pairs of faults
 * fault: a graph is captured and built every fourth step, and the batch comes from pageable memory
 * pair: graph-recapture, pageable-copy
 * every: 4
 * also: dispatch-bound, stream-serialised
 * repaired: dispatch-bound, stream-serialised
 * config: graph_instantiate_ns_per_node 20000
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    enum { KERNELS = 150 };
    struct trainer trainer = trainer_create(4 * MIB, !scenario->second);
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    for (int step = 0; step < 48; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        if (!exec || (scenario->faulty && step % 4 == 3)) {
            if (exec)
                CHECK(cudaGraphExecDestroy(exec));
            CHECK(cudaStreamBeginCapture(trainer.stream, cudaStreamCaptureModeThreadLocal));
            launch_many(KERNEL_FORWARD, trainer.stream, KERNELS, 4 * US);
            CHECK(cudaStreamEndCapture(trainer.stream, &graph));
            CHECK(cudaGraphInstantiate(&exec, graph, 0));
            CHECK(cudaGraphDestroy(graph));
        }
        CHECK(cudaGraphLaunch(exec, trainer.stream));
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    CHECK(cudaGraphExecDestroy(exec));
    trainer_destroy(&trainer);
}
