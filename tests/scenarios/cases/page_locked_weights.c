/*
 * source: aimz#267
 * fault: weights in page-locked memory that never change go up in every step, in the stream that computes
 * verdict: repeated-upload
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    const size_t bytes = 8 * MIB;
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned char *host;
    void *device;
    CHECK(cudaMallocHost((void **)&host, bytes));
    CHECK(cudaMalloc(&device, bytes));
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(i * 31 >> 7);
    for (int step = 0; step < 50; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        if (scenario->faulty || step == 0)
            CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 100 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 150 * US);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    trainer_destroy(&trainer);
}
