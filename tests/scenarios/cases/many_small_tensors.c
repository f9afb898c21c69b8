/*
 * source: a batch collated as dozens of small tensors
 * fault: every tensor of the batch is uploaded by itself
 * verdict: tiny-copies
 * also: stream-serialised
 * repaired: stream-serialised
 */
#include "tests/scenarios/scenario.h"

#include <string.h>

enum { TENSORS = 60, TENSOR_BYTES = 4096 };

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(TENSORS * TENSOR_BYTES, true);
    for (unsigned step = 0; step < 40; step++) {
        unsigned char *host = trainer.host[step % 2];
        scenario->steps++;
        CHECK(cudaEventSynchronize(trainer.uploaded[step % 2]));
        for (unsigned tensor = 0; tensor < TENSORS; tensor++) {
            const unsigned number = step * TENSORS + tensor;
            memcpy(host + tensor * TENSOR_BYTES, &number, sizeof(number));
        }
        const size_t part = scenario->faulty ? TENSOR_BYTES : trainer.bytes;
        for (size_t at = 0; at < trainer.bytes; at += part)
            CHECK(cudaMemcpyAsync(trainer.device + at, host + at, part, cudaMemcpyHostToDevice, trainer.stream));
        CHECK(cudaEventRecord(trainer.uploaded[step % 2], trainer.stream));
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 100 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 5, 150 * US);
    }
    trainer_destroy(&trainer);
}
