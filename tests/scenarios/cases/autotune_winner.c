/*
 * source: pytorch#2759
 * fault: now and then six algorithms are tried out, among them the one that all steps use
 * verdict: autotune
 * every: 7
 * also: alloc-churn, hiccup, device-sync, lazy-load, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

static void try_out(cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
{
    for (unsigned trial = 0; trial < 6; trial++) {
        float took_ms;
        CHECK(cudaEventRecord(begin, stream));
        launch_trial(trial, stream, (1000 + 400 * trial) * US);
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&took_ms, begin, end));
    }
}

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    unsigned next = 6, searches = 0; /* new sizes come when they come */
    for (unsigned step = 0; step < 63; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 4; layer++) {
            launch(KERNEL_NORM, trainer.stream, 60 * US);
            launch(KERNEL_ATTENTION, trainer.stream, 200 * US);
            launch(KERNEL_FORWARD, trainer.stream, 250 * US);
        }
        if (step == next) {
            next += 5 + searches++ * 7 % 5;
            if (scenario->faulty)
                try_out(trainer.stream, begin, end);
        }
        launch_trial(3, trainer.stream, 300 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 250 * US);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    trainer_destroy(&trainer);
}
