#include "analyzer/session/keeper/watchdog.h"

#include "analyzer/session/keeper/daemons.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct gw_watchdog {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct timespec deadline;
    bool stopped, bit;
};

static void *watch(void *argument)
{
    struct gw_watchdog *watchdog = argument;
    int result = 0;
    pthread_mutex_lock(&watchdog->mutex);
    while (!watchdog->stopped && result != ETIMEDOUT) {
        struct timespec deadline = watchdog->deadline;
        result = pthread_cond_timedwait(&watchdog->changed, &watchdog->mutex, &deadline);
        /* Extended meanwhile: the deadline waited for was the old one. */
        if (result == ETIMEDOUT &&
            (deadline.tv_sec != watchdog->deadline.tv_sec || deadline.tv_nsec != watchdog->deadline.tv_nsec))
            result = 0;
    }
    if (!watchdog->stopped) {
        watchdog->bit = true;
        gw_daemons_kill();
    }
    pthread_mutex_unlock(&watchdog->mutex);
    return NULL;
}

struct gw_watchdog *gw_watchdog_start(int seconds)
{
    struct gw_watchdog *watchdog = calloc(1, sizeof(*watchdog));
    pthread_condattr_t attributes;
    if (watchdog == NULL)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&watchdog->mutex, NULL);
    gw_watchdog_extend(watchdog, seconds);
    if (pthread_create(&watchdog->thread, NULL, watch, watchdog) != 0) {
        free(watchdog);
        return NULL;
    }
    return watchdog;
}

void gw_watchdog_extend(struct gw_watchdog *watchdog, int seconds)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += seconds;
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->deadline = deadline;
    pthread_mutex_unlock(&watchdog->mutex);
}

bool gw_watchdog_stop(struct gw_watchdog *watchdog)
{
    if (watchdog == NULL)
        return false;
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->stopped = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->mutex);
    pthread_join(watchdog->thread, NULL);
    bool bit = watchdog->bit;
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
    return bit;
}
