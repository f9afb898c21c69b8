/*
 * source: nvidia-docker#911, with both processes recorded
 * fault: another process of the run keeps the GPU busy half of the time, and kernels take twice as long then
 * verdict: shared-gpu
 * also: hiccup, device-sync
 * compare: no
 * config: devices 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/scenarios/scenario.h"

/* The simulated GPU of a process knows nothing of the other's, so the kernels are told what sharing would make of them:
 * the other process works in every other tenth of a second of the clock that both read. */
#define TURN_NS (100 * MS)

static bool is_turn(const volatile uint64_t *turn)
{
    return *turn % 2 == 1;
}

/* What the other process does in its turns. It says when they are. */
static void work_in_turns(volatile uint64_t *turn)
{
    struct trainer trainer = trainer_create(16 * KIB, true);
    for (int i = 0; i < 6; i++) {
        for (int piece = 0; piece < 20 && i % 2; piece++) {
            launch(KERNEL_EVALUATE, trainer.stream, 5 * MS);
            if (piece == 0) {
                CHECK(cudaStreamSynchronize(trainer.stream));
                *turn = 1;
            }
        }
        CHECK(cudaStreamSynchronize(trainer.stream));
        *turn = 0;
        if (i % 2 == 0)
            think(TURN_NS);
    }
    *turn = 2;
    trainer_destroy(&trainer);
}

void run_scenario(struct scenario *scenario)
{
    volatile uint64_t *turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED)
        exit(1);
    const pid_t other = scenario->faulty ? fork() : -1;
    if (other == 0) {
        work_in_turns(turn);
        exit(0);
    }
    struct trainer trainer = trainer_create(16 * KIB, true);
    while (scenario->faulty ? *turn != 2 : scenario->steps < 100) {
        const uint64_t factor = is_turn(turn) ? 2 : 1;
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, factor * 200 * US);
        launch_many(KERNEL_BACKWARD, trainer.stream, 8, factor * 300 * US);
        CHECK(cudaStreamSynchronize(trainer.stream));
    }
    trainer_destroy(&trainer);
    if (other > 0)
        waitpid(other, NULL, 0);
}
