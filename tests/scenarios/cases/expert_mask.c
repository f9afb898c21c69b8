/*
 * source: pytorch#12461
 * fault: the number of tokens of every expert is read before its kernels
 * verdict: host-sync
 * also: dispatch-bound, small-kernels, tiny-copies
 * repaired: dispatch-bound, small-kernels
 */
#include "tests/scenarios/scenario.h"

/* Indexing by a mask counts its ones on the host, three times for each expert of each layer. */
void run_scenario(struct scenario *scenario)
{
    const int layers = 2, experts = 8, reads = 3;
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 30; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < layers; layer++) {
            launch(KERNEL_ATTENTION, trainer.stream, 200 * US);
            for (int expert = 0; expert < experts; expert++) {
                for (int read = 0; read < reads; read++) {
                    launch(KERNEL_GATE, trainer.stream, 8 * US);
                    if (scenario->faulty)
                        read_scalar(&trainer);
                }
                launch(KERNEL_FORWARD, trainer.stream, 60 * US);
            }
        }
        launch_many(KERNEL_BACKWARD, trainer.stream, 4, 300 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
}
