/*
 * source: nvidia-docker#911
 * fault: another process takes the GPU half of the time
 * unknown: shared-gpu
 * also: hiccup
 * compare: no
 */
#include "tests/scenarios/scenario.h"

/* One process alone can see no more than the same kernels being slower in bursts. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 40; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        for (int layer = 0; layer < 20; layer++)
            launch(KERNEL_FORWARD, trainer.stream, layer % 5 ? 100 * US : 200 * US);
    }
    trainer_destroy(&trainer);
}
