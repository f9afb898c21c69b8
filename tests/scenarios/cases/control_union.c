/*
 * source: marin#8053
 * fault: none: two streams that overlap, a bubble by sums only
 * verdict: none
 * compare: no
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaStream_t side;
    cudaEvent_t ready, done;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 8; layer++) {
            launch(KERNEL_BACKWARD, trainer.stream, 200 * US);
            CHECK(cudaEventRecord(ready, trainer.stream));
            CHECK(cudaStreamWaitEvent(side, ready, 0));
            launch(KERNEL_REDUCE, side, 150 * US);
        }
        CHECK(cudaEventRecord(done, side));
        CHECK(cudaStreamWaitEvent(trainer.stream, done, 0));
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    trainer_destroy(&trainer);
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(side));
}
