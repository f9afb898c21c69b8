/*
 * source: nccl#460, with the cause on the host
 * fault: one of two ranks prepares its batch on the host while its GPU idles and the other waits
 * verdict: straggler, device-sync, dispatch-bound
 * also: hiccup
 * repaired: device-sync, hiccup
 * config: devices 2
 * config: nccl_gbps 4
 */
#include "tests/scenarios/ranks.h"

static void train(struct rank *rank)
{
    for (int step = 0; step < 25; step++) {
        rank->scenario->steps++;
        CHECK(cudaStreamSynchronize(rank->trainer.stream));
        if (rank->faulty && rank->number == 1)
            think(slowed(1500 * US));
        upload_batch(&rank->trainer);
        launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
        launch_many(KERNEL_BACKWARD, rank->trainer.stream, 4, 500 * US);
        all_reduce_beside(rank, 0, 256 * KIB);
        join_communication(rank);
        launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
    }
}

void run_scenario(struct scenario *scenario)
{
    run_ranks(scenario, RANKS_IN_PROCESSES, 2, 256 * KIB, train);
}
