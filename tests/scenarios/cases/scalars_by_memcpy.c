/*
 * source: kernel arguments that are copied one by one
 * fault: a hundred numbers go up in copies of their own, from pageable memory
 * verdict: tiny-copies
 * also: pageable-copy, dispatch-bound
 * repaired: dispatch-bound
 */
#include "tests/scenarios/scenario.h"

enum { NUMBERS = 100 };

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    double numbers[NUMBERS];
    for (int step = 0; step < 50; step++) {
        scenario->steps++;
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] = step + i; /* many of them equal others of the step before */
        const int part = scenario->faulty ? 1 : NUMBERS;
        for (int i = 0; i < NUMBERS; i += part)
            CHECK(cudaMemcpy((double *)(void *)trainer.device + i, numbers + i, (size_t)part * sizeof *numbers,
                             cudaMemcpyHostToDevice));
        launch_many(KERNEL_FORWARD, 0, 5, 100 * US);
        launch_many(KERNEL_BACKWARD, 0, 5, 150 * US);
    }
    trainer_destroy(&trainer);
}
