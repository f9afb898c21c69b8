/*
 * source: seen with JAX 0.10: examples/bert_jax.py
 * fault: every eighth step meets a length not seen before; other threads compile while the dispatching one sleeps
 * verdict: recompile
 * every: 8
 * also: dispatch-bound, lazy-load, hiccup
 * repaired: dispatch-bound
 */
#include <pthread.h>
#include <time.h>

#include "tests/scenarios/scenario.h"

static void doze(long duration_ns)
{
    const struct timespec duration = {.tv_nsec = duration_ns};
    nanosleep(&duration, NULL);
}

/* As XLA does: old graphs go, new arguments are ordered, then the code is loaded. */
static cudaKernel_t compile(unsigned number, cudaStream_t stream)
{
    cudaLibrary_t library;
    cudaEvent_t event;
    doze(15 * MS);
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, stream));
    think(100 * US);
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    CHECK(cudaEventDestroy(event));
    return load_kernel(number, &library);
}

/* A thread that only looks at the stream now and then: it neither wakes the other nor ends a step. */
static void *watch(void *argument)
{
    struct trainer *trainer = argument;
    for (int look = 0; look < 6; look++) {
        doze(30 * MS);
        cudaStreamQuery(trainer->stream);
    }
    return NULL;
}

void run_scenario(struct scenario *scenario)
{
    struct trainer trainer = trainer_create(32 * KIB, true);
    cudaKernel_t kernel = compile(0, trainer.stream);
    pthread_t watcher;
    const int is_watched = pthread_create(&watcher, NULL, watch, &trainer) == 0;
    for (unsigned step = 0; step < 48; step++) {
        scenario->steps++;
        think(100 * US);
        if (scenario->faulty && step % 8 == 7)
            kernel = compile(step, trainer.stream);
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 4, 300 * US);
        launch_loaded(kernel, trainer.stream, 400 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 200 * US);
    }
    if (is_watched)
        pthread_join(watcher, NULL);
    trainer_destroy(&trainer);
}
