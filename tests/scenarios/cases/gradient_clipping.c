/*
 * source: pytorch#60691
 * fault: three branches on values of the GPU before the optimizer
 * verdict: host-sync
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

/* Is the norm finite, is it above the limit, is anything to clip: one byte each, in pageable memory. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 120 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 200 * US);
        for (int branch = 0; branch < 3; branch++) {
            unsigned char answer;
            launch(KERNEL_NORM, trainer.stream, 15 * US);
            if (scenario->faulty) {
                CHECK(cudaMemcpyAsync(&answer, trainer.loss, 1, cudaMemcpyDeviceToHost, trainer.stream));
                CHECK(cudaStreamSynchronize(trainer.stream));
            }
            think(60 * US);
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 150 * US);
    }
    trainer_destroy(&trainer);
}
