/*
 * source: jax#7024, #13297
 * fault: the predicate of a while loop is read on the host in every turn
 * verdict: host-sync
 * also: dispatch-bound, small-kernels, tiny-copies
 * repaired: dispatch-bound, small-kernels
 */
#include "tests/scenarios/scenario.h"

/* 81 turns, one byte each. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 200 * US);
        for (int turn = 0; turn < 81; turn++) {
            unsigned char again;
            launch(KERNEL_ELEMENTWISE, trainer.stream, 10 * US);
            if (scenario->faulty) {
                CHECK(cudaMemcpyAsync(&again, trainer.loss, 1, cudaMemcpyDeviceToHost, trainer.stream));
                CHECK(cudaStreamSynchronize(trainer.stream));
            }
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
