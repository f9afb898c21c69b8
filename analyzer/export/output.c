#include "analyzer/export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)

/* What a signal's handler is to remove, copied so that it does not matter when it comes. */
enum { FREE, TAKEN, NOTED };
static struct {
    char path[PATH_MAX];
    int state;
} unfinished[GW_OUTPUTS_REMOVED];

static void note(const char *path)
{
    for (size_t i = 0; i < GW_OUTPUTS_REMOVED && strlen(path) < sizeof(unfinished[i].path); i++) {
        int expected = FREE;
        if (__atomic_compare_exchange_n(&unfinished[i].state, &expected, TAKEN, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            memcpy(unfinished[i].path, path, strlen(path) + 1);
            __atomic_store_n(&unfinished[i].state, NOTED, __ATOMIC_RELEASE);
            return;
        }
    }
}

static void forget(const char *path)
{
    for (size_t i = 0; i < GW_OUTPUTS_REMOVED; i++) {
        if (__atomic_load_n(&unfinished[i].state, __ATOMIC_ACQUIRE) == NOTED && strcmp(unfinished[i].path, path) == 0)
            __atomic_store_n(&unfinished[i].state, FREE, __ATOMIC_RELEASE);
    }
}

void gw_output_remove_unfinished(void)
{
    for (size_t i = 0; i < GW_OUTPUTS_REMOVED; i++) {
        if (__atomic_load_n(&unfinished[i].state, __ATOMIC_ACQUIRE) == NOTED)
            unlink(unfinished[i].path);
    }
}

/* Makes the file and notes it, before any signal. Returns a descriptor, or -1 with errno set. */
static int create_noted(char *template)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int fd = g_mkstemp_full(template, O_WRONLY | O_CLOEXEC, 0666), reason = errno;
    if (fd >= 0)
        note(template);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return fd;
}

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* A pipe or device is written as it is; so is what the caller has opened, behind what is there, for the name is only a
 * way to it. */
static bool is_replaced(const char *path)
{
    static const char *const opened[] = {"/dev/std", "/dev/fd/", "/proc/"};
    struct stat info;
    if (is_standard_output(path))
        return false;
    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
        if (strncmp(path, opened[i], strlen(opened[i])) == 0)
            return false;
    }
    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

int gw_output_open(struct gw_output *ret_output, const char *path)
{
    struct gw_output output = {0};
    int status = 0, fd = -1;
    bool replaced = is_replaced(path), is_there = access(path, F_OK) == 0;
    output.path = replaced && is_there ? realpath(path, NULL) : strdup(path);
    if (!output.path || asprintf(&output.written, "%s%s", output.path, replaced ? ".XXXXXX" : "") < 0) {
        output.written = NULL;
        status = -ENOMEM;
        goto end;
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it goes to the caller with the rest, or is freed at the end. */
    if (replaced && is_there && access(output.path, W_OK) != 0)
        status = -errno;
    else
        fd = replaced                   ? create_noted(output.written)
             : is_standard_output(path) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                        : open(output.written, O_WRONLY | O_APPEND | O_CLOEXEC);
    status = status ? status : fd < 0 ? -errno : 0;
    if (status)
        goto end;
    output.file = fdopen(fd, "w");
    if (!output.file) {
        status = errno == EINVAL ? -EBADF : -errno; /* EINVAL: the standard output is closed, or open for reading */
        close(fd);
        if (replaced) {
            unlink(output.written);
            forget(output.written);
        }
        goto end;
    }
    setvbuf(output.file, NULL, _IOFBF, BUFFER_BYTES);
    *ret_output = output;
end:
    if (status) {
        free(output.path);
        free(output.written);
    }
    return status;
}

void gw_output_write(struct gw_output *output, const void *bytes, size_t size)
{
    errno = 0;
    if (output->status == 0 && fwrite(bytes, 1, size, output->file) != size)
        output->status = errno ? -errno : -EIO;
}

int gw_output_end(struct gw_output *output, int status)
{
    bool failed = ferror(output->file) != 0;
    int reason = failed && errno ? errno : EIO;
    errno = 0;
    /* fclose writes the last of the buffer: a full disk may show only there. */
    failed |= fclose(output->file) != 0;
    output->file = NULL;
    if (failed && output->status == 0)
        output->status = errno ? -errno : -reason;
    return output->status ? output->status : status;
}

int gw_output_take(struct gw_output *output, int status)
{
    bool has_other_name = strcmp(output->written, output->path) != 0;
    if (!status && has_other_name && rename(output->written, output->path) != 0)
        status = -errno;
    if (status && has_other_name)
        unlink(output->written);
    forget(output->written);
    free(output->path);
    free(output->written);
    *output = (struct gw_output){0};
    return status;
}

int gw_output_close(struct gw_output *output, int status)
{
    return gw_output_take(output, gw_output_end(output, status));
}
