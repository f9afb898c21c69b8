/*
 * source: transformers#19108
 * fault: a model that was not jitted runs operation by operation
 * verdict: dispatch-bound
 * also: small-kernels
 * repaired: small-kernels
 */
#include "tests/scenarios/scenario.h"

/* The report has 1.14 s against 37.7 ms. */
void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    for (int step = 0; step < 12; step++) {
        scenario->steps++;
        upload_batch(&trainer);
        think(100 * US);
        for (int operation = 0; operation < 100; operation++) {
            if (scenario->faulty)
                think(260 * US);
            launch((enum kernel)(operation % 6), trainer.stream, 8 * US);
        }
    }
    trainer_destroy(&trainer);
}
