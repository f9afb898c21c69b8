/*
 * source: pytorch#2759
 * fault: the same algorithms are tried out again at every new size, timed by events
 * verdict: autotune
 * every: 7
 * also: alloc-churn, hiccup, device-sync, lazy-load, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaEvent_t begin, end;
    unsigned next = 6, sizes = 0; /* new sizes come when they come */
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (unsigned step = 0; step < 48; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        const bool is_new = step == next;
        next += is_new ? 5 + sizes++ * 7 % 5 : 0;
        launch_many(KERNEL_FORWARD, trainer.stream, 3, 150 * US);
        for (unsigned trial = 0; trial < 5 && scenario->faulty && is_new; trial++) {
            float took_ms;
            CHECK(cudaEventRecord(begin, trainer.stream));
            launch_trial(trial, trainer.stream, 1500 * US);
            CHECK(cudaEventRecord(end, trainer.stream));
            CHECK(cudaEventSynchronize(end));
            CHECK(cudaEventElapsedTime(&took_ms, begin, end));
        }
        launch_many(KERNEL_FORWARD, trainer.stream, 3, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 200 * US);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    trainer_destroy(&trainer);
}
