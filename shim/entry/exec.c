// Compilers that the program executes: the recorder is told of them, which watches them from outside. They run as they
// always do; only their names are looked at here.
#include "shim/api/exec_note.h"
#include "shim/entry/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *next_execve, *next_execv, *next_execvp, *next_execvpe, *next_posix_spawn, *next_posix_spawnp;

// As in descriptors.c: a forked child must not look for them.
__attribute__((constructor)) static void find_next(void)
{
    gw_next(&next_execve, "execve");
    gw_next(&next_execv, "execv");
    gw_next(&next_execvp, "execvp");
    gw_next(&next_execvpe, "execvpe");
    gw_next(&next_posix_spawn, "posix_spawn");
    gw_next(&next_posix_spawnp, "posix_spawnp");
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The recorder's FIFO, or NULL. A child of vfork may read what is its parent's.
static const char *fifo(void)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (strncmp(*variable, GW_EXEC_VARIABLE "=", sizeof(GW_EXEC_VARIABLE)) == 0)
            return *variable + sizeof(GW_EXEC_VARIABLE);
    return NULL;
}

static uint32_t add_text(char *room, uint32_t at, uint32_t end, const char *text)
{
    size_t length = strlen(text) + 1;

    if (length > end - at)
        return at;
    memcpy(room + at, text, length);
    return at + (uint32_t)length;
}

// Says it. Nothing but system calls, all of which may fail: children of vfork and of threads come here.
static void say(enum gw_exec_what what, uint32_t pid, uint32_t parent, uint32_t thread, uint64_t begin_ns,
                const char *file, char *const *arguments)
{
    union {
        struct gw_exec_note note;
        char bytes[GW_EXEC_NOTE_BYTES];
    } message;
    const uint32_t room = GW_EXEC_NOTE_BYTES - GW_EXEC_NOTE_HEAD;
    const char *path = fifo();
    int saved_errno = errno;
    // Opened for reading as well: were the recorder killed before the write, that would raise SIGPIPE in the program.
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0) : -1;

    if (fd >= 0) {
        uint32_t at = add_text(message.note.text, 0, room, file);

        for (char *const *argument = arguments; argument && *argument; argument++)
            at = add_text(message.note.text, at, room, *argument);
        message.note.begin_ns = begin_ns;
        message.note.bytes = GW_EXEC_NOTE_HEAD + at;
        message.note.what = what;
        message.note.pid = pid;
        message.note.parent = parent;
        message.note.thread = thread;
        syscall(SYS_write, fd, &message, message.note.bytes);
        syscall(SYS_close, fd);
    }
    errno = saved_errno;
}

static void say_of_self(enum gw_exec_what what, const char *file, char *const *arguments)
{
    say(what, (uint32_t)syscall(SYS_getpid), (uint32_t)syscall(SYS_getppid), 0, now_ns(), file, arguments);
}

// The headers promise that there is a name, and the program need not keep to it: the kernel answers EFAULT.
static bool is_compiler(const char *file)
{
    __asm__("" : "+r"(file));
    return file && gw_exec_is_compiler(file);
}

static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

// The real function returns only when it has failed.
#define EXECUTE(call, file, arguments)                                                                                 \
    bool compiles = is_compiler(file);                                                                                 \
    if (compiles)                                                                                                      \
        say_of_self(GW_EXEC_BEGINS, file, arguments);                                                                  \
    int result = real ? (call) : missing();                                                                            \
    if (compiles)                                                                                                      \
        say_of_self(GW_EXEC_FAILED, file, NULL);                                                                       \
    return result

GW_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    int (*real)(const char *, char *const *, char *const *) =
        (int (*)(const char *, char *const *, char *const *))gw_next(&next_execve, "execve");

    EXECUTE(real(path, arguments, environment), path, arguments);
}

GW_EXPORT int execv(const char *path, char *const arguments[])
{
    int (*real)(const char *, char *const *) = (int (*)(const char *, char *const *))gw_next(&next_execv, "execv");

    EXECUTE(real(path, arguments), path, arguments);
}

GW_EXPORT int execvp(const char *file, char *const arguments[])
{
    int (*real)(const char *, char *const *) = (int (*)(const char *, char *const *))gw_next(&next_execvp, "execvp");

    EXECUTE(real(file, arguments), file, arguments);
}

GW_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    int (*real)(const char *, char *const *, char *const *) =
        (int (*)(const char *, char *const *, char *const *))gw_next(&next_execvpe, "execvpe");

    EXECUTE(real(file, arguments, environment), file, arguments);
}

// The arguments of an execl… as an array on the stack, NULL at its end, in `array`; the list goes on after it.
#define COLLECT(first, list)                                                                                           \
    va_list counting;                                                                                                  \
    size_t count = 1;                                                                                                  \
    va_start(list, first);                                                                                             \
    va_copy(counting, list);                                                                                           \
    for (const char *argument = first; argument; count++)                                                              \
        argument = va_arg(counting, const char *);                                                                     \
    va_end(counting);                                                                                                  \
    char **array = __builtin_alloca(count * sizeof(*array));                                                           \
    array[0] = (char *)(uintptr_t)first;                                                                               \
    for (size_t i = 1; i < count; i++)                                                                                 \
    array[i] = va_arg(list, char *)

GW_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;

    COLLECT(first, list);
    va_end(list);
    return execv(path, array);
}

GW_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;

    COLLECT(first, list);
    va_end(list);
    return execvp(file, array);
}

GW_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;

    COLLECT(first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, array, environment);
}

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                     char *const *, char *const *);

static int spawn(spawn_fn *real, pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment)
{
    pid_t pid = 0;

    if (!real)
        return ENOSYS;
    if (!is_compiler(file))
        return real(ret_pid, file, actions, attributes, arguments, environment);

    uint64_t begin_ns = now_ns();
    int result = real(&pid, file, actions, attributes, arguments, environment);

    if (result == 0) {
        if (ret_pid)
            *ret_pid = pid;
        say(GW_EXEC_STARTED, (uint32_t)pid, (uint32_t)syscall(SYS_getpid), (uint32_t)syscall(SYS_gettid), begin_ns,
            file, arguments);
    }
    return result;
}

GW_EXPORT int posix_spawn(pid_t *restrict ret_pid, const char *restrict path,
                          const posix_spawn_file_actions_t *restrict actions,
                          const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                          char *const environment[restrict])
{
    return spawn((spawn_fn *)gw_next(&next_posix_spawn, "posix_spawn"), ret_pid, path, actions, attributes, arguments,
                 environment);
}

GW_EXPORT int posix_spawnp(pid_t *restrict ret_pid, const char *restrict file,
                           const posix_spawn_file_actions_t *restrict actions,
                           const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                           char *const environment[restrict])
{
    return spawn((spawn_fn *)gw_next(&next_posix_spawnp, "posix_spawnp"), ret_pid, file, actions, attributes, arguments,
                 environment);
}
