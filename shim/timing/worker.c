#include "shim/timing/worker.h"

#include <lttng/ust-thread.h>
#include <signal.h>

#include "shim/tracer/driver.h"
#include "shim/tracer/tracer.h"

#define STACK_BYTES (256u * 1024u)

bool gw_worker_start(struct gw_worker *worker, void *(*body)(void *))
{
    pthread_condattr_t monotonic;
    pthread_attr_t attributes;
    sigset_t all, before;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->wake, &monotonic);
    pthread_cond_init(&worker->passed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&worker->thread, &attributes, body, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

void gw_worker_enter(void)
{
    pthread_setname_np(pthread_self(), "gw-timing");
    lttng_ust_init_thread();
    gw_tracer.host->thread()->busy = 1;
}

bool gw_worker_keep_out_of_captures(void)
{
    const struct gw_driver *driver = gw_driver();
    int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED

    // A driver without it has no global mode either.
    return driver &&
           (!driver->cuThreadExchangeStreamCaptureMode || driver->cuThreadExchangeStreamCaptureMode(&mode) == 0);
}

void gw_worker_wait(struct gw_worker *worker, pthread_cond_t *condition, uint64_t ns)
{
    if (ns == UINT64_MAX) {
        pthread_cond_wait(condition, &worker->lock);
        return;
    }
    uint64_t until = gw_now_ns() + ns;
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};

    pthread_cond_timedwait(condition, &worker->lock, &at);
}

void gw_worker_wake_sleeping(struct gw_worker *worker)
{
    if (!__atomic_load_n(&worker->sleeping, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(&worker->lock);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}
