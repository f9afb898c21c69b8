/*
 * Fork. A child is left alone until it calls CUDA itself: most never do, and what LTTng has to do in a child (threads,
 * sockets, the loader) is not safe in one that another thread's work was cut off in. CUDA does not work in the child of
 * a process that used it, and is not touched there by the tool.
 */
#include <errno.h>
#include <fcntl.h>
#include <lttng/ust-fork.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/api/open_files.h"
#include "shim/timing/timing.h"
#include "shim/tracer/steps.h"
#include "shim/tracer/tracer.h"

enum { AWAKE, DORMANT, WAKING };

static int state = AWAKE;

bool gw_fork_is_awake(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == AWAKE;
}

static void before(void)
{
    bool awake = gw_fork_is_awake(); // may change by another thread until after_in_parent
    struct gw_thread *thread = gw_tracer.host->thread();

    thread->fork_locked = awake;
    if (!awake)
        return;
    lttng_ust_before_fork(&thread->fork_signals);
    lttng_ust_lock_fd_tracker(); // the child closes descriptors, too
}

static void after_in_parent(void)
{
    struct gw_thread *thread = gw_tracer.host->thread();

    if (!thread->fork_locked)
        return;
    lttng_ust_unlock_fd_tracker();
    lttng_ust_after_fork_parent(&thread->fork_signals);
}

static void replace_by_nowhere(int fd, void *data)
{
    const int *nowhere = data;

    if (fd != *nowhere && gw_descriptor_is_lttngs(fd) && !gw_descriptor_is_taken(fd))
        syscall(SYS_dup3, *nowhere, fd, O_CLOEXEC);
}

// The child's copies of LTTng's descriptors would keep the session from seeing the parent end. Their numbers stay
// taken, because LTTng closes them by number when the child is traced.
static void let_go_of_descriptors(void)
{
    int nowhere = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);

    if (nowhere < 0)
        return;
    gw_each_open_file(replace_by_nowhere, &nowhere);
    syscall(SYS_close, nowhere);
}

static void after_in_child(void)
{
    struct gw_thread *thread = gw_tracer.host->thread();
    int saved_errno = errno;

    gw_tracer.pid = (uint32_t)getpid();
    gw_tracer.generation++;
    gw_tracer.captures = 0;
    gw_tracer.streamless = 0;
    gw_tracer.child = true;
    if (gw_tracer.timing)
        gw_tracer.timing->forked();
    gw_tracer.timing = NULL;
    gw_steps_forked();
    state = DORMANT;
    gw_tracer_record_first_call();
    if (thread->fork_locked) {
        lttng_ust_unlock_fd_tracker();
        lttng_ust_after_fork_parent(&thread->fork_signals); // releases what was taken, no more
        let_go_of_descriptors();
    }
    errno = saved_errno;
}

bool gw_fork_wake(void)
{
    int expected = DORMANT;
    sigset_t signals;

    if (gw_fork_is_awake())
        return true;
    if (!__atomic_compare_exchange_n(&state, &expected, WAKING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return expected == AWAKE;
    lttng_ust_before_fork(&signals);
    lttng_ust_after_fork_child(&signals);
    __atomic_store_n(&state, AWAKE, __ATOMIC_RELEASE);
    gw_process_enter();
    gw_tracer_record_as_told();
    return true;
}

void gw_fork_init(void)
{
    __atomic_store_n(&state, AWAKE, __ATOMIC_RELEASE);
    // Handlers run for fork, not for vfork or posix_spawn, whose children share the parent's memory until they exec.
    pthread_atfork(before, after_in_parent, after_in_child);
}
