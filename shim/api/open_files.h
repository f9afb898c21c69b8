/*
 * The descriptors that are open, one after the other. Without libc's directories: they allocate, and this runs in
 * forked children and where the program's allocator must not be called.
 */
#ifndef GW_SHIM_API_OPEN_FILES_H
#define GW_SHIM_API_OPEN_FILES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls visit for each descriptor that is open but the one it reads them by; visit may close it or put another in its
// place. Returns whether all were seen. May change errno.
static inline bool gw_each_open_file(void (*visit)(int fd, void *data), void *data)
{
    char entries[1024] __attribute__((aligned(8)));
    int folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
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
            int fd = 0;

            for (const char *c = entry->name; *c >= '0' && *c <= '9'; c++)
                fd = fd * 10 + (*c - '0');
            if (entry->name[0] != '.' && fd != folder)
                visit(fd, data);
            at += entry->length;
        }
    syscall(SYS_close, folder);
    return got == 0;
}

#endif
