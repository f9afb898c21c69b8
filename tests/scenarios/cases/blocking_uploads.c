/*
 * source: .to(device) of a pinned batch without non_blocking=True
 * fault: the copy of each page-locked batch holds the host until the GPU has done all before it
 * verdict: blocking-copy
 * also: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

/* All in the default stream, as PyTorch has it; the host makes a batch after each upload. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (unsigned step = 0; step < 50; step++) {
        unsigned char *host = trainer.host[step % 2];
        scenario->steps++;
        CHECK(cudaEventSynchronize(trainer.uploaded[step % 2]));
        memcpy(host, &step, sizeof(step));
        if (scenario->faulty)
            CHECK(cudaMemcpy(trainer.device, host, trainer.bytes, cudaMemcpyHostToDevice));
        else
            CHECK(cudaMemcpyAsync(trainer.device, host, trainer.bytes, cudaMemcpyHostToDevice, NULL));
        CHECK(cudaEventRecord(trainer.uploaded[step % 2], NULL));
        think(300 * US);
        launch_many(KERNEL_FORWARD, NULL, 4, 120 * US);
        launch_many(KERNEL_BACKWARD, NULL, 4, 150 * US);
    }
    trainer_destroy(&trainer);
}
