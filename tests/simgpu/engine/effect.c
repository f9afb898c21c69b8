#include "tests/simgpu/engine/effect.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_BYTES 32768u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct effect *ring;
static size_t ring_capacity;
static uint64_t pushed, done; // both count from the start; ring index is the number modulo the capacity
static bool worker_runs;

static void fill_row(char *row, size_t bytes, uint32_t value, unsigned value_bytes)
{
    if (value_bytes == 1) {
        memset(row, (int)value, bytes);
        return;
    }
    for (size_t i = 0; i + value_bytes <= bytes; i += value_bytes)
        memcpy(row + i, &value, value_bytes);
}

static void effect_run(const struct effect *effect)
{
    switch (effect->type) {
    case EFFECT_NONE:
        break;
    case EFFECT_CALL:
        effect->call(effect->to, effect->width_bytes);
        break;
    case EFFECT_COPY:
        for (size_t z = 0; z < effect->depth; z++) {
            for (size_t y = 0; y < effect->height; y++)
                memmove(effect->to + z * effect->to_slice + y * effect->to_pitch,
                        effect->from + z * effect->from_slice + y * effect->from_pitch, effect->width_bytes);
        }
        free(effect->release);
        break;
    case EFFECT_FILL:
        for (size_t y = 0; y < effect->height; y++)
            fill_row(effect->to + y * effect->to_pitch, effect->width_bytes, effect->value, effect->value_bytes);
        break;
    }
}

static void *worker_main(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (done == pushed)
            pthread_cond_wait(&queued, &lock);
        const struct effect effect = ring[done % ring_capacity];
        pthread_mutex_unlock(&lock);
        effect_run(&effect);
        pthread_mutex_lock(&lock);
        __atomic_store_n(&done, done + 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&finished);
    }
    return NULL;
}

static bool worker_start(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker_runs = pthread_create(&thread, NULL, worker_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (worker_runs)
        pthread_detach(thread);
    return worker_runs;
}

static void ring_grow(void)
{
    const size_t capacity = ring_capacity ? 2 * ring_capacity : 64;
    struct effect *grown = malloc(capacity * sizeof *grown);
    if (!grown)
        abort();
    for (uint64_t i = done; i < pushed; i++)
        grown[i % capacity] = ring[i % ring_capacity];
    free(ring);
    ring = grown;
    ring_capacity = capacity;
}

uint64_t effect_start(const struct effect *effect)
{
    const size_t bytes = effect->width_bytes * effect->height * effect->depth;
    pthread_mutex_lock(&lock);
    if (done == pushed && (bytes <= INLINE_BYTES || (!worker_runs && !worker_start()))) {
        effect_run(effect);
    } else {
        if (pushed - done == ring_capacity)
            ring_grow();
        ring[pushed++ % ring_capacity] = *effect;
        pthread_cond_signal(&queued);
    }
    const uint64_t seq = pushed;
    pthread_mutex_unlock(&lock);
    return seq;
}

bool effect_done(uint64_t seq)
{
    return __atomic_load_n(&done, __ATOMIC_ACQUIRE) >= seq;
}

void effect_wait(uint64_t seq)
{
    if (effect_done(seq))
        return;
    pthread_mutex_lock(&lock);
    while (done < seq)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

void effect_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&queued, NULL);
    pthread_cond_init(&finished, NULL);
    done = pushed;
    worker_runs = false;
}
