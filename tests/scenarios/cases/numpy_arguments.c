/*
 * source: aimz#267
 * fault: the arguments of a jitted function are uploaded in every call
 * verdict: repeated-upload
 * also: stream-serialised, blocking-copy, pageable-copy, dispatch-bound
 * repaired: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

#include <stdlib.h>

void run_scenario(struct scenario *scenario)
{
    const size_t bytes = 4 * MIB;
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned char *argument = malloc(bytes);
    void *device;
    for (size_t i = 0; i < bytes; i++)
        argument[i] = (unsigned char)(i * 31);
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMemcpy(device, argument, bytes, cudaMemcpyHostToDevice));
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        think(200 * US);
        upload_batch(&trainer);
        if (scenario->faulty)
            CHECK(cudaMemcpyAsync(device, argument, bytes, cudaMemcpyHostToDevice, trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 150 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 250 * US);
    }
    trainer_destroy(&trainer);
    CHECK(cudaFree(device));
    free(argument);
}
