/*
 * The program puts a descriptor of its own where one of LTTng's is (dup2). LTTng has no way to be told of that. But
 * when the session daemon goes away, it lets go of everything, and connects anew when it is told of a daemon; so its
 * sockets are shut down, as if the daemon had gone. What was recorded is safe, it lies in the daemon's buffers.
 *
 * LTTng's own calls of close come to the shim's, and from there here. That is the moment to put the program's
 * descriptor in the place, before LTTng can get the same number again; and of sockets, which it keeps until it connects
 * anew, the moment to know that it is done with the number.
 */
#include "shim/api/open_files.h"
#include "shim/tracer/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONGEST_WAIT_NS 1000000000u
#define SOCKET_WAIT_NS 100000000u
#define TAKEN_MAX 64u

static int report_only(int fd)
{
    (void)fd;
    return 1;
}

bool gw_descriptor_is_lttngs(int fd)
{
    return lttng_ust_safe_close_fd(fd, report_only) != 1;
}

// The program's, though LTTng will still close that number: number + 1; 0: free.
static int taken[TAKEN_MAX];
static uint32_t taken_count;

static bool replace_taken(int old, int new)
{
    for (unsigned i = 0; i < TAKEN_MAX; i++) {
        int expected = old;

        if (__atomic_compare_exchange_n(&taken[i], &expected, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

bool gw_descriptor_is_taken(int fd)
{
    if (__builtin_expect(__atomic_load_n(&taken_count, __ATOMIC_ACQUIRE) == 0, 1))
        return false;
    for (unsigned i = 0; i < TAKEN_MAX; i++)
        if (__atomic_load_n(&taken[i], __ATOMIC_ACQUIRE) == fd + 1)
            return true;
    return false;
}

// Returns false when there is no room.
static bool take(int fd)
{
    if (!gw_descriptor_is_taken(fd)) {
        if (!replace_taken(0, fd + 1))
            return false;
        __atomic_fetch_add(&taken_count, 1, __ATOMIC_RELEASE);
    }
    return true;
}

static int give_back(int fd)
{
    if (replace_taken(fd + 1, 0))
        __atomic_fetch_sub(&taken_count, 1, __ATOMIC_RELEASE);
    return 0;
}

static uint64_t wanted; // descriptor + 1 | what is to stand there << 32; 0: none
#define WANTED(fd, old) ((uint64_t)((fd) + 1) | (uint64_t)(old) << 32)

static bool is_wanted(uint64_t word, int fd)
{
    return (uint32_t)word == (uint32_t)fd + 1;
}

static int replace(int fd)
{
    uint64_t word = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
    long result = is_wanted(word, fd) ? syscall(SYS_dup3, (int)(word >> 32), fd, 0) : syscall(SYS_close, fd);

    return result < 0 ? -1 : 0;
}

int gw_descriptor_close(int fd, int (*close_fd)(int fd))
{
    uint64_t word = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);

    // The callback is called when LTTng closes its own, or the program what is not LTTng's.
    if (__builtin_expect(gw_descriptor_is_taken(fd), 0))
        return lttng_ust_safe_close_fd(fd, give_back) == 0 ? 0 : close_fd(fd);
    return lttng_ust_safe_close_fd(fd, __builtin_expect(is_wanted(word, fd), 0) ? replace : close_fd);
}

static bool is_socket(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

static void shut_down_socket(int fd, void *unused)
{
    (void)unused;
    if (gw_descriptor_is_lttngs(fd) && !gw_descriptor_is_taken(fd) && is_socket(fd))
        shutdown(fd, SHUT_RDWR);
}

// Returns whether LTTng has let go of it.
static bool make_lttng_let_go(int old, int fd)
{
    const struct timespec moment = {.tv_nsec = 200000};
    const uint64_t begin_ns = gw_now_ns();
    const bool socket = is_socket(fd);
    uint64_t none = 0;

    for (; !__atomic_compare_exchange_n(&wanted, &none, WANTED(fd, old), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
         none = 0) {
        if (gw_now_ns() - begin_ns > LONGEST_WAIT_NS) // another thread is at it
            return false;
        nanosleep(&moment, NULL);
    }
    gw_each_open_file(shut_down_socket, NULL);
    bool let_go;
    while (!(let_go = !gw_descriptor_is_lttngs(fd)) &&
           gw_now_ns() - begin_ns < (socket ? SOCKET_WAIT_NS : LONGEST_WAIT_NS))
        nanosleep(&moment, NULL);
    __atomic_store_n(&wanted, 0, __ATOMIC_RELEASE);
    return let_go || (socket && take(fd));
}

bool gw_descriptor_displace(int old, int fd)
{
    struct gw_thread *thread = gw_tracer.host->thread();
    int cancel_state;
    bool displaced;

    // A child by vfork has descriptors of its own, but the parent's memory; it will execute another program.
    if (!gw_descriptor_is_lttngs(fd) || gw_descriptor_is_taken(fd) || (uint32_t)getpid() != gw_tracer.pid)
        return true;
    if (!gw_fork_is_awake()) // nobody uses it, and its number is closed when somebody wakes LTTng
        return take(fd);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    thread->busy = 1;
    gw_coverage(GW_COVERAGE_DISABLED, "recording",
                "ended or interrupted: the program put a descriptor of its own where the tracer had one (dup2)");
    displaced = make_lttng_let_go(old, fd);
    thread->busy = 0;
    pthread_setcancelstate(cancel_state, NULL);
    return displaced;
}
