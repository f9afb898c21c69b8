// Fork: LTTng's own state, the cached ids, and CUDA, which does not work in the child and is not touched there.
#include <lttng/ust-fork.h>
#include <pthread.h>
#include <unistd.h>

#include "shim/timing/timing.h"
#include "shim/tracer/tracer.h"

static void before(void)
{
    lttng_ust_before_fork(&gw_tracer.host->thread()->fork_signals);
    lttng_ust_lock_fd_tracker(); // the child closes descriptors, too
}

static void after_in_parent(void)
{
    lttng_ust_unlock_fd_tracker();
    lttng_ust_after_fork_parent(&gw_tracer.host->thread()->fork_signals);
}

static void after_in_child(void)
{
    gw_tracer.pid = (uint32_t)getpid();
    gw_tracer.generation++;
    gw_tracer.captures = 0;
    gw_tracer.child = true;
    if (gw_tracer.timing)
        gw_tracer.timing->forked();
    gw_tracer.timing = NULL;
    lttng_ust_unlock_fd_tracker();
    lttng_ust_after_fork_child(&gw_tracer.host->thread()->fork_signals);
    gw_process_enter();
}

void gw_fork_init(void)
{
    // Handlers run for fork, not for vfork or posix_spawn, whose children share the parent's memory until they exec.
    pthread_atfork(before, after_in_parent, after_in_child);
}
