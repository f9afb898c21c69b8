/*
 * source: TensorRT-LLM PR16313
 * fault: a page-locked buffer is allocated for every upload
 * verdict: pinning-in-loop
 * also: stream-serialised, dispatch-bound
 * repaired: stream-serialised
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

void run_scenario(struct scenario *scenario)
{
    const size_t bytes = 4 * MIB;
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned char *kept, *device;
    CHECK(cudaMallocHost((void **)&kept, bytes));
    CHECK(cudaMalloc((void **)&device, bytes));
    for (unsigned step = 0; step < 25; step++) {
        unsigned char *buffer = kept;
        scenario->steps++;
        upload_batch(&trainer);
        if (scenario->faulty)
            CHECK(cudaMallocHost((void **)&buffer, bytes));
        memcpy(buffer, &step, sizeof(step));
        CHECK(cudaMemcpyAsync(device, buffer, bytes, cudaMemcpyHostToDevice, trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 120 * US);
        if (scenario->faulty)
            CHECK(cudaFreeHost(buffer));
    }
    trainer_destroy(&trainer);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(kept));
}
