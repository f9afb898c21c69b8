// Descriptors that the program closes, or puts others in the place of. The tracer's would be written to after their
// numbers were given to files of the program's.
#include "shim/api/open_files.h"
#include "shim/entry/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *next_close, *next_closefrom, *next_close_range, *next_dup2, *next_dup3;

// In a forked child the loader's lock may be held by a thread that is not there: what children use is found before.
__attribute__((constructor)) static void find_next(void)
{
    gw_next(&next_close, "close");
    gw_next(&next_close_range, "close_range");
    gw_next(&next_closefrom, "closefrom");
    gw_next(&next_dup2, "dup2");
    gw_next(&next_dup3, "dup3");
}

static int bare_close(int fd)
{
    int (*real)(int) = (int (*)(int))gw_next(&next_close, "close");

    return real ? real(fd) : (int)syscall(SYS_close, fd);
}

GW_EXPORT int close(int fd)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);

    return sink->close ? sink->close(fd, bare_close) : bare_close(fd);
}

struct closing {
    unsigned first, last;
};

static void close_within(int fd, void *data)
{
    const struct closing *range = data;

    if ((unsigned)fd >= range->first && (unsigned)fd <= range->last)
        close(fd);
}

// Closes one by one what is open from first to last. Returns whether it could.
static bool close_each(unsigned first, unsigned last)
{
    struct closing range = {first, last};
    int saved_errno = errno;
    bool all = gw_each_open_file(close_within, &range);

    errno = saved_errno;
    return all;
}

GW_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);
    int (*real)(unsigned, unsigned, int) = (int (*)(unsigned, unsigned, int))gw_next(&next_close_range, "close_range");

    if (sink->close && flags == 0 && first <= last && close_each(first, last))
        return 0;
    if (real)
        return real(first, last, flags);
    errno = ENOSYS;
    return -1;
}

GW_EXPORT void closefrom(int first)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);
    void (*real)(int) = (void (*)(int))gw_next(&next_closefrom, "closefrom");
    unsigned from = first < 0 ? 0 : (unsigned)first;

    if (sink->close && close_each(from, INT_MAX))
        return;
    if (real)
        real(first);
}

// Before fd becomes a copy of old: makes way for it. Returns false when it cannot be had.
static bool make_way(int old, int fd)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);
    int saved_errno = errno;
    bool free_now =
        !sink->displace || old == fd || gw_thread.busy || fcntl(old, F_GETFD) < 0 || sink->displace(old, fd);

    errno = free_now ? saved_errno : EBUSY; // as dup2 may say on Linux
    return free_now;
}

GW_EXPORT int dup2(int old, int fd)
{
    int (*real)(int, int) = (int (*)(int, int))gw_next(&next_dup2, "dup2");

    if (!make_way(old, fd))
        return -1;
    return real ? real(old, fd) : (int)syscall(SYS_dup3, old, fd, 0);
}

GW_EXPORT int dup3(int old, int fd, int flags)
{
    int (*real)(int, int, int) = (int (*)(int, int, int))gw_next(&next_dup3, "dup3");

    if (!make_way(old, fd))
        return -1;
    return real ? real(old, fd, flags) : (int)syscall(SYS_dup3, old, fd, flags);
}
