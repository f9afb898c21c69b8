/*
 * exec_notes FOLDER: what is said of a compiler that a process executes, with the preloaded library in it and this
 * program in the recorder's place: two notes of one that is not there; nothing, and no other errno, where nobody can be
 * told; and no signal where the recorder has gone between the opening and the writing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/api/exec_note.h"

static int recorder = -1;    // its end of the FIFO
static bool recorder_leaves; // at the next write

// The library's system calls come by here.
__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long words[4];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_write && recorder_leaves)
        close(recorder);
    return next(number, words[0], words[1], words[2], words[3]);
}

static char *arguments[] = {(char *)"gcc", (char *)"-c", (char *)"a.c", NULL};

// Returns the errno of executing a file within a folder that is none: ENOTDIR, which nothing else here gives.
static int execute(void)
{
    errno = 0;
    execv("/dev/null/gcc", arguments);
    return errno;
}

static int fail(const char *what)
{
    fprintf(stderr, "exec_notes: %s\n", what);
    return 1;
}

static int check_notes(void)
{
    static const char text[] = "/dev/null/gcc\0gcc\0-c\0a.c";
    union {
        struct gw_exec_note note;
        char bytes[GW_EXEC_NOTE_BYTES];
    } begins, failed;
    const uint32_t bytes = GW_EXEC_NOTE_HEAD + (uint32_t)sizeof(text);
    const uint32_t failed_bytes = GW_EXEC_NOTE_HEAD + (uint32_t)strlen(text) + 1;

    if (execute() != ENOTDIR)
        return fail("another errno with a recorder");
    if (read(recorder, &begins, bytes) != (ssize_t)bytes || begins.note.what != GW_EXEC_BEGINS ||
        begins.note.bytes != bytes || begins.note.pid != (uint32_t)getpid() ||
        begins.note.parent != (uint32_t)getppid() || memcmp(begins.note.text, text, sizeof(text)) != 0)
        return fail("no note of the beginning, or another");
    if (read(recorder, &failed, sizeof(failed)) != (ssize_t)failed_bytes || failed.note.what != GW_EXEC_FAILED ||
        failed.note.pid != (uint32_t)getpid())
        return fail("no note of the failure, or another");
    return 0;
}

static int check_nobody(const char *path)
{
    setenv(GW_EXEC_VARIABLE, path, 1);
    return execute() == ENOTDIR ? 0 : fail(path);
}

static int check_leaving(void)
{
    int status = 0, ready[2];
    char byte;

    if (pipe(ready) != 0)
        return fail("no pipe");
    pid_t child = fork();

    if (child == 0) {
        close(ready[1]);
        recorder_leaves = read(ready[0], &byte, 1) == 0; // once the parent's end is closed, too
        _exit(execute() == ENOTDIR ? 7 : 1);
    }
    close(recorder);
    close(ready[0]);
    close(ready[1]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : fail("a recorder that leaves ends the program");
}

int main(int argc, char **argv)
{
    char path[4096];
    int result;

    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/execs.%d", argv[1], getpid());
    if (mkfifo(path, 0600) != 0 || (recorder = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        return 2;
    result = check_nobody("/nonexistent/fifo");
    result |= check_nobody("/dev/full");
    setenv(GW_EXEC_VARIABLE, path, 1);
    result |= check_notes();
    result |= check_leaving();
    unlink(path);
    return result;
}
