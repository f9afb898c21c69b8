/*
 * source: cudf#23074
 * fault: the properties of the device are asked for in the hot path
 * verdict: slow-query
 * also: dispatch-bound
 * repaired: dispatch-bound
 * config: api_cost_ns cudaGetDeviceProperties* 1000000
 */
#include "tests/scenarios/scenario.h"

/* About 1 ms a call. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    struct cudaDeviceProp properties;
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        think(100 * US);
        if (scenario->faulty)
            CHECK(cudaGetDeviceProperties(&properties, 0));
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 5, 100 * US);
    }
    trainer_destroy(&trainer);
}
