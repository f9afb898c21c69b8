/*
 * source: pairs of faults
 * fault: the dispatching thread sleeps in the middle of each step, and the same weights are uploaded in every step
 * pair: host-blocked, repeated-upload
 * also: pageable-copy, stream-serialised, blocking-copy, dispatch-bound
 */
#include "tests/scenarios/scenario.h"

#include <stdlib.h>

void run_scenario(struct scenario *scenario)
{
    const size_t bytes = 4 * MIB;
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned char *weights = malloc(bytes);
    void *device;
    for (size_t i = 0; i < bytes; i++)
        weights[i] = (unsigned char)(i * 31);
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMemcpy(device, weights, bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        if (scenario->second)
            CHECK(cudaMemcpyAsync(device, weights, bytes, cudaMemcpyHostToDevice, trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 150 * US);
        if (scenario->faulty)
            rest(2000 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 150 * US);
    }
    trainer_destroy(&trainer);
    CHECK(cudaFree(device));
    free(weights);
}
