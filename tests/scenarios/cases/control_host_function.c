/*
 * source: a callback in the stream, as for the completion of an asynchronous copy
 * fault: none: the GPU waits for a function of the host in the middle of each step, which no suspect is about; other programs may delay it
 * verdict: none
 * also: hiccup
 * compare: no
 */
#include "tests/scenarios/scenario.h"

static void CUDART_CB on_host(void *duration_ns)
{
    think(*(const uint64_t *)duration_ns);
}

void run_scenario(struct scenario *scenario)
{
    static uint64_t duration_ns = 200 * US;
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 100 * US);
        CHECK(cudaLaunchHostFunc(trainer.stream, on_host, &duration_ns));
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 150 * US);
    }
    trainer_destroy(&trainer);
}
