// Descriptors that the program closes, or puts others in the place of. The tracer's would be written to after their
// numbers were given to files of the program's.
#include "shim/entry/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
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

// Closes one by one what is open from first to last. Returns whether it could.
static bool close_each(unsigned first, unsigned last)
{
    char entries[1024] __attribute__((aligned(8)));
    int saved_errno = errno,
        folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long got;

    if (folder < 0)
        return false;
    while ((got = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0)
        for (long at = 0; at < got;) {
            const struct {
                uint64_t inode, offset;
                uint16_t length;
                uint8_t type;
                char name[];
            } *entry = (const void *)(entries + at);
            unsigned fd = 0;

            for (const char *c = entry->name; *c >= '0' && *c <= '9'; c++)
                fd = fd * 10 + (unsigned)(*c - '0');
            if (entry->name[0] != '.' && fd >= first && fd <= last && fd != (unsigned)folder)
                close((int)fd);
            at += entry->length;
        }
    syscall(SYS_close, folder);
    errno = saved_errno;
    return got == 0;
}

GW_EXPORT int close_range(unsigned first, unsigned last, int flags);
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

GW_EXPORT void closefrom(int first);
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
