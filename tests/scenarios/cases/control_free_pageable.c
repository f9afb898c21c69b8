/*
 * source: torchrec#3855
 * fault: none: an upload from pageable memory that costs nothing
 * verdict: none
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

/* It is staged while the GPU works, in a stream of its own. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    static unsigned char indices[16 * 1024];
    void *device;
    cudaStream_t side;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, sizeof(indices)));
    for (unsigned step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 8, 150 * US);
        memcpy(indices, &step, sizeof(step));
        if (scenario->faulty)
            CHECK(cudaMemcpyAsync(device, indices, sizeof(indices), cudaMemcpyHostToDevice, side));
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, 250 * US);
    }
    trainer_destroy(&trainer);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(side));
}
