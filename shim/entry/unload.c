// What the program takes away: libraries (dlclose) and descriptors (close and its like). The tracer's descriptors would
// be written to after their numbers were given to files of the program's.
#include "shim/entry/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct next_search {
    const char *name;
    bool after_shim;
    void *found;
};

static bool visit_for_next(const struct gw_elf *elf, void *data)
{
    struct next_search *search = data;

    if (search->after_shim)
        search->found = gw_elf_symbol(elf, search->name);
    search->after_shim = search->after_shim || ((uintptr_t)&gw_sink >= elf->low && (uintptr_t)&gw_sink < elf->high);
    return search->found;
}

static void *next(void **known, const char *name)
{
    struct next_search search = {.name = name, .found = __atomic_load_n(known, __ATOMIC_RELAXED)};

    if (!search.found) {
        gw_elf_each(visit_for_next, &search);
        __atomic_store_n(known, search.found, __ATOMIC_RELAXED);
    }
    return search.found;
}

static void *next_dlopen, *next_dlclose, *next_close, *next_closefrom, *next_close_range;

// In a forked child the loader's lock may be held by a thread that is not there: what children use is found before.
__attribute__((constructor)) static void find_next(void)
{
    next(&next_close, "close");
    next(&next_close_range, "close_range");
    next(&next_closefrom, "closefrom");
}

void *gw_next_dlopen(void)
{
    return next(&next_dlopen, "dlopen");
}

GW_EXPORT int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))next(&next_dlclose, "dlclose");
    unsigned long long before = gw_elf_unloads();
    int result = real ? real(handle) : -1;

    if (gw_elf_unloads() != before)
        gw_forget_unloaded();
    return result;
}

static int bare_close(int fd)
{
    int (*real)(int) = (int (*)(int))next(&next_close, "close");

    return real ? real(fd) : (int)syscall(SYS_close, fd);
}

GW_EXPORT int close(int fd)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);

    return sink->close ? sink->close(fd, bare_close) : bare_close(fd);
}

// Closes one by one what is open from first to last. Returns whether it could.
static bool close_each(const struct gw_sink *sink, unsigned first, unsigned last)
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
                sink->close((int)fd, bare_close);
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
    int (*real)(unsigned, unsigned, int) = (int (*)(unsigned, unsigned, int))next(&next_close_range, "close_range");

    if (sink->close && flags == 0 && first <= last && close_each(sink, first, last))
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
    void (*real)(int) = (void (*)(int))next(&next_closefrom, "closefrom");
    unsigned from = first < 0 ? 0 : (unsigned)first;

    if (sink->close && close_each(sink, from, INT_MAX))
        return;
    if (real)
        real(first);
}
