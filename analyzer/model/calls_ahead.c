#include "analyzer/model/calls_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "analyzer/read/parallel.h"

#define BATCH_CALLS 1024u
#define BATCHES 4u

struct batch {
    size_t count; /* 0: the calls are at their end */
    uint32_t references[BATCH_CALLS];
    struct gw_record calls[BATCH_CALLS];
};

struct gw_calls_ahead {
    struct gw_call_merge merge; /* the thread's while there is one */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* filled, emptied and stop */
    pthread_cond_t changed;
    size_t filled, emptied; /* batches, from the first one on */
    bool stop;
    size_t at; /* in the batch at hand, the one numbered emptied */
    struct batch batches[BATCHES];
};

static void fill(struct gw_calls_ahead *self, struct batch *batch)
{
    batch->count = 0;
    while (batch->count < BATCH_CALLS &&
           gw_call_merge_next(&self->merge, &batch->references[batch->count], &batch->calls[batch->count])) {
        batch->count++;
    }
}

static void *run(void *argument)
{
    struct gw_calls_ahead *self = argument;
    bool more = true;
    pthread_mutex_lock(&self->lock);
    while (more) {
        while (!self->stop && self->filled - self->emptied == BATCHES) {
            pthread_cond_wait(&self->changed, &self->lock);
        }
        if (self->stop) {
            break;
        }
        struct batch *batch = &self->batches[self->filled % BATCHES];
        pthread_mutex_unlock(&self->lock);
        fill(self, batch);
        more = batch->count != 0;
        pthread_mutex_lock(&self->lock);
        self->filled++;
        pthread_cond_signal(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

int gw_calls_ahead_create(const struct gw_builder *builder, struct gw_calls_ahead **ret_ahead)
{
    struct gw_calls_ahead *self = malloc(sizeof(*self));
    if (!self) {
        return -ENOMEM;
    }
    self->filled = self->emptied = self->at = 0;
    self->stop = false;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    int status = gw_call_merge_init(&self->merge, builder);
    self->has_thread = !status && gw_parallel_threads() > 1 && pthread_create(&self->thread, NULL, run, self) == 0;
    if (!status && !self->has_thread) {
        fill(self, &self->batches[0]);
        self->filled = 1;
    }
    if (status) {
        gw_calls_ahead_destroy(self);
    } else {
        *ret_ahead = self;
    }
    return status;
}

/* Gives the batch at hand back and waits for the one after it. */
static void turn(struct gw_calls_ahead *self)
{
    self->at = 0;
    if (!self->has_thread) {
        fill(self, &self->batches[0]);
        return;
    }
    pthread_mutex_lock(&self->lock);
    self->emptied++;
    pthread_cond_signal(&self->changed);
    while (self->filled == self->emptied) {
        pthread_cond_wait(&self->changed, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

/* The first batch is waited for as the others are turned to. */
static void wait_for_first(struct gw_calls_ahead *self)
{
    pthread_mutex_lock(&self->lock);
    while (!self->filled) {
        pthread_cond_wait(&self->changed, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

const struct gw_record *gw_calls_ahead_next(struct gw_calls_ahead *ahead, uint32_t *ret_reference)
{
    if (ahead->at == 0 && ahead->emptied == 0) {
        wait_for_first(ahead);
    }
    struct batch *batch = &ahead->batches[ahead->emptied % BATCHES];
    if (batch->count && ahead->at == batch->count) {
        turn(ahead);
        batch = &ahead->batches[ahead->emptied % BATCHES];
    }
    if (!batch->count) {
        return NULL;
    }
    *ret_reference = batch->references[ahead->at];
    return &batch->calls[ahead->at++];
}

void gw_calls_ahead_destroy(struct gw_calls_ahead *ahead)
{
    if (!ahead) {
        return;
    }
    if (ahead->has_thread) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stop = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    gw_call_merge_clear(&ahead->merge);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
