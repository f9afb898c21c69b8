/*
 * source: OneTrainer PR1608
 * fault: the same small statistics are uploaded in every step
 * verdict: repeated-upload
 * also: device-sync, tiny-copies, pageable-copy, blocking-copy, dispatch-bound
 * repaired: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

void run_scenario(struct scenario *scenario)
{
    enum { LAYERS = 40, BYTES = 4096 };
    struct trainer trainer = trainer_create(32 * KIB, true);
    static unsigned char statistics[LAYERS][BYTES];
    void *device[LAYERS];
    for (int layer = 0; layer < LAYERS; layer++) {
        memset(statistics[layer], layer + 1, BYTES);
        CHECK(cudaMalloc(&device[layer], BYTES));
        CHECK(cudaMemcpy(device[layer], statistics[layer], BYTES, cudaMemcpyHostToDevice));
    }
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        think(100 * US);
        upload_batch(&trainer);
        for (int layer = 0; scenario->faulty && layer < LAYERS; layer++) {
            CHECK(cudaMemcpyAsync(device[layer], statistics[layer], BYTES, cudaMemcpyHostToDevice, trainer.stream));
            CHECK(cudaStreamSynchronize(trainer.stream));
        }
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 250 * US);
    }
    trainer_destroy(&trainer);
    for (int layer = 0; layer < LAYERS; layer++)
        CHECK(cudaFree(device[layer]));
}
