/*
 * source: peft PR2894
 * fault: the cache of the allocator is emptied in every step
 * verdict: alloc-churn
 * also: dispatch-bound, device-sync
 */
#include "tests/scenarios/scenario.h"

void run_scenario(struct scenario *scenario)
{
    enum { BLOCKS = 16 };
    struct trainer trainer = trainer_create(32 * KIB, true);
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        CHECK(cudaMalloc(&blocks[i], MIB));
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int i = 0; i < BLOCKS; i++) {
            if (scenario->faulty && step)
                CHECK(cudaMalloc(&blocks[i], MIB));
            launch(KERNEL_FORWARD, trainer.stream, 50 * US);
        }
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 250 * US);
        for (int i = 0; scenario->faulty && i < BLOCKS; i++)
            CHECK(cudaFree(blocks[i]));
    }
    for (int i = 0; !scenario->faulty && i < BLOCKS; i++)
        CHECK(cudaFree(blocks[i]));
    trainer_destroy(&trainer);
}
