#include "analyzer/session/recover.h"

#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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
    return result;
}

static int run_lttng_crash(const char *buffers_path, const char *output)
{
    char *const arguments[] = {"lttng-crash", "-x", (char *)output, (char *)buffers_path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int result = -posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result != 0)
        return result;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* Moves the streams of `from` beside those of `to`, folder by folder. A trace may consist of any number of files of one
 * stream. */
static int merge(const char *from, const char *to)
{
    int result = 0;
    DIR *folder = opendir(from);
    if (folder == NULL)
        return -errno;
    struct dirent *entry;
    while (result == 0 && (entry = readdir(folder)) != NULL) {
        char source[PATH_MAX], target[PATH_MAX];
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(source, sizeof(source), "%s/%s", from, entry->d_name) >= (int)sizeof(source) ||
            lstat(source, &status) != 0)
            continue;
        int is_folder = S_ISDIR(status.st_mode);
        int is_metadata = strcmp(entry->d_name, "metadata") == 0;
        if (snprintf(target, sizeof(target), "%s/%s%s", to, is_folder || is_metadata ? "" : "recovered-",
                     entry->d_name) >= (int)sizeof(target))
            continue;
        if (is_folder) {
            if (mkdir(target, 0770) != 0 && errno != EEXIST)
                result = -errno;
            else
                result = merge(source, target);
        } else if (is_metadata ? stat(target, &status) != 0 || status.st_size == 0 : status.st_size > 0) {
            result = copy_file(source, target);
        }
    }
    closedir(folder);
    return result;
}

int gw_recover_buffers(const char *buffers_path, const char *trace_path)
{
    char output[PATH_MAX];
    if (access(buffers_path, R_OK | X_OK) != 0)
        return -errno;
    if (snprintf(output, sizeof(output), "%s.recovered", trace_path) >= (int)sizeof(output))
        return -ENAMETOOLONG;
    gw_remove_tree(output);
    int result = run_lttng_crash(buffers_path, output);
    /* Even when a buffer is damaged, what came out of the others counts. */
    if (access(output, F_OK) == 0) {
        int merged = merge(output, trace_path);
        if (result == 0)
            result = merged;
    }
    gw_remove_tree(output);
    if (result == 0)
        gw_remove_tree(buffers_path);
    return result;
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
    if (buffers == NULL || snprintf(trace, sizeof(trace), "%s/trace", dir) >= (int)sizeof(trace)) {
        result = -EINVAL;
        goto end;
    }
    result = gw_recover_buffers(buffers, trace);
    if (result == -ENOENT)
        result = -ENODATA;
    if (result != 0)
        goto end;

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
