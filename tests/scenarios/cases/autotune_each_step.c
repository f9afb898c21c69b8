/*
 * source: pytorch#2759, where each batch has a size of its own
 * fault: in every step five algorithms are tried out, each with a workspace and timed, and the best one is used
 * verdict: autotune
 * also: alloc-churn, device-sync, dispatch-bound, small-kernels
 */
#include "tests/scenarios/scenario.h"

static void try_out(cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
{
    void *workspace;
    float took_ms;
    for (unsigned trial = 0; trial < 5; trial++) {
        CHECK(cudaMalloc(&workspace, 8 * MIB));
        CHECK(cudaEventRecord(begin, stream));
        launch_trial(trial, stream, (500 + 300 * trial) * US);
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&took_ms, begin, end));
        CHECK(cudaFree(workspace));
    }
}

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_NORM, trainer.stream, 3, 200 * US);
        if (scenario->faulty)
            try_out(trainer.stream, begin, end);
        launch_trial(0, trainer.stream, 500 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 250 * US);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    trainer_destroy(&trainer);
}
