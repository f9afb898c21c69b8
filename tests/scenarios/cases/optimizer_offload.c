/*
 * source: DeepSpeed#6834
 * fault: the optimizer's state goes down to the host and up again in every step
 * verdict: round-trip-copy
 * also: stream-serialised, blocking-copy, dispatch-bound, repeated-upload, device-sync
 * config: d2h_pinned_gbps 12
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    const size_t bytes = 8 * MIB;
    struct trainer trainer = trainer_create(32 * KIB, true);
    unsigned char *state, *device;
    CHECK(cudaStreamDestroy(trainer.stream)); /* one that blocking copies wait for */
    CHECK(cudaStreamCreate(&trainer.stream));
    CHECK(cudaMallocHost((void **)&state, bytes));
    CHECK(cudaMalloc((void **)&device, bytes));
    for (unsigned step = 0; step < 25; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 120 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 200 * US);
        CHECK(cudaMemsetAsync(device, (int)step + 1, bytes, trainer.stream));
        if (scenario->faulty) {
            CHECK(cudaMemcpy(state, device, bytes, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpyAsync(device, state, bytes, cudaMemcpyHostToDevice, trainer.stream));
        }
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    trainer_destroy(&trainer);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(state));
}
