#include "analyzer/read/parallel.h"

#include <pthread.h>
#include <sched.h>

#define THREADS_MAX 64

struct pool {
    pthread_mutex_t lock; /* next and status */
    size_t next, count;
    int (*work)(void *user, size_t index);
    void *user;
    int status;
};

size_t gw_parallel_threads(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (size_t)count;
}

static void *run(void *argument)
{
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->status && pool->next < pool->count) {
        size_t index = pool->next++;
        pthread_mutex_unlock(&pool->lock);
        int status = pool->work(pool->user, index);
        pthread_mutex_lock(&pool->lock);
        pool->status = pool->status ? pool->status : status;
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int gw_parallel_for(size_t count, int (*work)(void *user, size_t index), void *user)
{
    struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = count, .work = work, .user = user};
    pthread_t threads[THREADS_MAX];
    size_t wanted = gw_parallel_threads() < count ? gw_parallel_threads() : count, started = 0;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, run, &pool) == 0) {
        started++;
    }
    run(&pool);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&pool.lock);
    return pool.status;
}
