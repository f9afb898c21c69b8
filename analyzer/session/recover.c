#include "analyzer/session/recover.h"

#include "analyzer/session/packets.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"
#include "analyzer/session/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT "kept"
#define NOT_FOUND 127

static int copy_file(const char *from, const char *to)
{
    struct stat status;
    int result = 0;
    int out = -1;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0 || fstat(in, &status) != 0) {
        result = -errno;
        goto end;
    }
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
    if (out < 0) {
        result = -errno;
        goto end;
    }
    for (off_t left = status.st_size; left > 0;) {
        ssize_t copied = sendfile(out, in, NULL, (size_t)left);
        if (copied <= 0) {
            result = copied < 0 ? -errno : -EIO;
            goto end;
        }
        left -= copied;
    }
end:
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) != 0 && result == 0)
        result = -errno;
    if (out >= 0 && result != 0)
        unlink(to);
    return result;
}

static int run_lttng_crash(const char *buffers_path, const char *output)
{
    struct gw_runtime runtime;
    char path[PATH_MAX];
    int status = 0, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    gw_runtime_find(&runtime);
    gw_runtime_program(&runtime, "lttng-crash", path);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        gw_runtime_enter(&runtime);
        execlp(path, "lttng-crash", "-x", output, buffers_path, (char *)NULL);
        _exit(errno == ENOENT ? NOT_FOUND : NOT_FOUND - 1);
    }
    int result = pid < 0 ? -errno : 0;
    if (null >= 0)
        close(null);
    while (result == 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            result = -errno;
    }
    if (result != 0)
        return result;
    return !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != NOT_FOUND) ? -EIO
           : WEXITSTATUS(status) == NOT_FOUND                                                   ? -ENOENT
                                                                                                : 0;
}

enum part { METADATA, STREAMS };

/*
 * Copies one part of the trace `from` into `to`, folder by folder. A trace may consist of any number of files of one
 * stream, so recovered ones lie beside those that the consumer has written. Metadata replaces what is there, which may
 * be a beginning.
 */
static int merge(const char *from, const char *to, enum part part, int *count)
{
    int result = 0;
    DIR *folder = opendir(from);
    if (folder == NULL)
        return -errno;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char source[PATH_MAX], target[PATH_MAX];
        struct stat status;
        int done = 0;
        if (entry->d_name[0] == '.' ||
            snprintf(source, sizeof(source), "%s/%s", from, entry->d_name) >= (int)sizeof(source) ||
            lstat(source, &status) != 0)
            continue;
        bool is_folder = S_ISDIR(status.st_mode);
        bool is_metadata = strcmp(entry->d_name, "metadata") == 0;
        if (snprintf(target, sizeof(target), "%s/%s%s", to, is_folder || is_metadata ? "" : "recovered-",
                     entry->d_name) >= (int)sizeof(target))
            continue;
        if (is_folder)
            done = mkdir(target, 0770) == 0 || errno == EEXIST ? merge(source, target, part, count) : -errno;
        else if (is_metadata == (part == METADATA) && status.st_size > 0) {
            done = copy_file(source, target);
            *count += done == 0;
        }
        if (result == 0)
            result = done;
    }
    closedir(folder);
    return result;
}

static int link_tree(const char *from, const char *to)
{
    int result = 0;
    DIR *folder = opendir(from);
    if (folder == NULL)
        return -errno;
    if (mkdir(to, 0700) != 0)
        result = -errno;
    struct dirent *entry;
    while (result == 0 && (entry = readdir(folder)) != NULL) {
        char source[PATH_MAX], target[PATH_MAX];
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(source, sizeof(source), "%s/%s", from, entry->d_name) >= (int)sizeof(source) ||
            snprintf(target, sizeof(target), "%s/%s", to, entry->d_name) >= (int)sizeof(target))
            result = -ENAMETOOLONG;
        else if (lstat(source, &status) == 0 && S_ISDIR(status.st_mode))
            result = link_tree(source, target);
        else if (link(source, target) != 0)
            result = -errno;
    }
    closedir(folder);
    return result;
}

int gw_keep_buffers(const char *buffers_path)
{
    char kept[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
    if (snprintf(kept, sizeof(kept), "%s/" KEPT, buffers_path) >= (int)sizeof(kept) ||
        snprintf(from, sizeof(from), "%s/ust", buffers_path) >= (int)sizeof(from) ||
        snprintf(to, sizeof(to), "%s/ust", kept) >= (int)sizeof(to))
        return -ENAMETOOLONG;
    return mkdir(kept, 0700) != 0 ? -errno : link_tree(from, to);
}

/* The chunk that a rotated recording was writing lies in a folder of its own. */
static int merge_chunk_metadata(const char *from, const char *trace_path)
{
    int result = 0;
    DIR *folder = opendir(trace_path);
    if (folder == NULL)
        return -errno;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char chunk[PATH_MAX];
        if (entry->d_type == DT_DIR && strchr(entry->d_name, '-') != NULL &&
            snprintf(chunk, sizeof(chunk), "%s/%s", trace_path, entry->d_name) < (int)sizeof(chunk)) {
            int done = merge(from, chunk, METADATA, &(int){0});
            result = result == 0 ? done : result;
        }
    }
    closedir(folder);
    return result;
}

int gw_recover_buffers(const char *buffers_path, const char *trace_path, bool whole)
{
    char output[PATH_MAX], kept[PATH_MAX];
    if (access(buffers_path, R_OK | X_OK) != 0)
        return -errno;
    bool has_kept =
        snprintf(kept, sizeof(kept), "%s/" KEPT, buffers_path) < (int)sizeof(kept) && access(kept, X_OK) == 0;
    /* Not below the trace: its disk may be full. */
    if (snprintf(output, sizeof(output), "%s.recovered", buffers_path) >= (int)sizeof(output))
        return -ENAMETOOLONG;
    gw_remove_tree(output);
    if (mkdir(trace_path, 0770) != 0 && errno != EEXIST)
        return -errno;
    gw_packets_trim(trace_path);
    int count = 0;
    int result = run_lttng_crash(has_kept ? kept : buffers_path, output);
    /* Even when a buffer is damaged, what came out of the others counts. */
    if (access(output, F_OK) == 0) {
        int streams = merge(output, trace_path, STREAMS, &count);
        int metadata = whole ? 0 : merge_chunk_metadata(output, trace_path);
        if (metadata == 0 && (!whole || count > 0))
            metadata = merge(output, trace_path, METADATA, &(int){0});
        if (result == 0)
            result = metadata != 0 ? metadata : streams;
    }
    gw_remove_tree(output);
    if (result == 0)
        gw_remove_tree(buffers_path);
    return result == 0 ? count : result;
}

/* nftw passes no context to its callback. */
static _Thread_local int metadata_files, metadata_empty;

static int check_metadata(const char *path, const struct stat *status, int type, struct FTW *where)
{
    if (type == FTW_F && strcmp(path + where->base, "metadata") == 0) {
        metadata_files++;
        metadata_empty += status->st_size == 0;
    }
    return 0;
}

bool gw_trace_has_metadata(const char *trace_path)
{
    metadata_files = metadata_empty = 0;
    return nftw(trace_path, check_metadata, 16, FTW_PHYS) == 0 && metadata_files > 0 && metadata_empty == 0;
}

/*
 * A run may come from somebody else, and what its run.json names is removed in the end: only a directory that a
 * recorder makes, at one of the two places where it makes it, is taken.
 */
static bool is_buffers_path(const char *path, const char *dir)
{
    static const char name[] = "gpuwitness-XXXXXX";
    char real_dir[PATH_MAX], expected[PATH_MAX + 32];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || strlen(slash + 1) != strlen(name) || strncmp(slash + 1, name, strlen("gpuwitness-")) != 0 ||
        realpath(dir, real_dir) == NULL)
        return false;
    snprintf(expected, sizeof(expected), "%s%s", real_dir, slash);
    return strcmp(path, expected) == 0 || (strncmp(path, "/dev/shm", 8) == 0 && slash == path + 8);
}

int gw_run_recover(const char *dir)
{
    char trace[PATH_MAX];
    json_t *info = NULL;
    int lock = -1;
    int result = gw_run_info_read(dir, &info);
    if (result != 0)
        return result;
    if (json_is_true(json_object_get(info, "complete")) || json_is_true(json_object_get(info, "recovered")))
        goto end;
    lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
        result = errno == EWOULDBLOCK ? -EBUSY : -errno;
        goto end;
    }
    const char *buffers = json_string_value(json_object_get(json_object_get(info, "buffers"), "path"));
    if (buffers == NULL || !is_buffers_path(buffers, dir) ||
        snprintf(trace, sizeof(trace), "%s/trace", dir) >= (int)sizeof(trace)) {
        result = -EINVAL;
        goto end;
    }
    gw_run_dir_release(dir);
    result = gw_recover_buffers(buffers, trace, false);
    if (result < 0) {
        /* What the consumer has written may do. */
        result = gw_trace_has_metadata(trace) ? 0 : result == -ENOENT ? -ENODATA : result;
        goto end;
    }
    result = 0;

    json_t *problems = json_object_get(info, "problems");
    if (!json_is_array(problems)) {
        problems = json_array();
        json_object_set_new(info, "problems", problems);
    }
    json_array_append_new(problems,
                          json_string("the recorder and its session daemon were killed; the run was recovered "
                                      "from the trace buffers, its last events may be missing"));
    json_object_set_new(info, "recovered", json_true());
    /* A run on a read-only file system is recovered again by the next reader, if need be. */
    gw_run_info_write(dir, info);
end:
    if (lock >= 0)
        close(lock);
    json_decref(info);
    return result;
}
