#include "analyzer/session/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"

#define HOME_NAME "gw-XXXXXX"
#define BUFFERS_NAME "gpuwitness-XXXXXX"
#define RUN_LINK "gpuwitness-run"
#define BUFFERS_LINK "gpuwitness-buffers"
#define BASES 4u

static void find_bases(const char *ret_bases[BASES])
{
    const char *bases[BASES] = {getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < BASES; i++)
        ret_bases[i] = bases[i] != NULL && bases[i][0] == '/' ? bases[i] : NULL;
}

int gw_home_make(char ret_home[GW_HOME_MAX_BYTES])
{
    const char *bases[BASES];
    int result = -ENOENT;
    find_bases(bases);
    for (size_t i = 0; i < BASES; i++) {
        char home[GW_HOME_MAX_BYTES];
        if (bases[i] == NULL || snprintf(home, sizeof(home), "%s/" HOME_NAME, bases[i]) >= (int)sizeof(home))
            continue;
        if (mkdtemp(home) != NULL) {
            memcpy(ret_home, home, sizeof(home));
            return 0;
        }
        result = -errno;
    }
    return result;
}

int gw_home_note(const char *home, const char *run, const char *buffers)
{
    char link[PATH_MAX];
    snprintf(link, sizeof(link), "%s/" BUFFERS_LINK, home);
    if (symlink(buffers, link) != 0)
        return -errno;
    snprintf(link, sizeof(link), "%s/" RUN_LINK, home);
    return symlink(run, link) == 0 ? 0 : -errno;
}

int gw_home_hold(const char *home)
{
    int fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    flock(fd, LOCK_SH);
    return fd;
}

/* Whether the last part of a path is one that mkdtemp makes of a name that ends in XXXXXX. */
static bool is_made_of(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *last = slash != NULL ? slash + 1 : path;
    return strlen(last) == strlen(name) && strncmp(last, name, strlen(name) - 6) == 0;
}

static bool is_own_directory(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static bool read_link(const char *home, const char *name, char ret_target[PATH_MAX])
{
    char link[PATH_MAX];
    ssize_t length = -1;
    if (snprintf(link, sizeof(link), "%s/%s", home, name) < (int)sizeof(link))
        length = readlink(link, ret_target, PATH_MAX - 1);
    ret_target[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Whether the run has, or does not want, what the buffers hold. *ret_readable: it wants it. */
static bool is_done_with(const struct gw_leftover *leftover, bool *ret_readable)
{
    json_t *info = NULL;
    if (access(leftover->buffers, F_OK) != 0)
        return true;
    if (gw_run_info_read(leftover->run, &info) != 0)
        return false;
    const char *buffers = json_string_value(json_object_get(json_object_get(info, "buffers"), "path"));
    bool done = json_is_true(json_object_get(info, "complete")) || json_is_true(json_object_get(info, "recovered"));
    *ret_readable = !done && buffers != NULL && strcmp(buffers, leftover->buffers) == 0;
    json_decref(info);
    return done;
}

static void look_at(const char *home, void (*found)(const struct gw_leftover *, void *), void *context)
{
    struct gw_leftover leftover = {.readable = false};
    int fd = is_own_directory(home) ? open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    snprintf(leftover.home, sizeof(leftover.home), "%s", home);
    /* One without its notes was just made. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !read_link(home, RUN_LINK, leftover.run) ||
        !read_link(home, BUFFERS_LINK, leftover.buffers))
        goto end;
    if (is_done_with(&leftover, &leftover.readable)) {
        if (is_made_of(leftover.buffers, BUFFERS_NAME) && is_own_directory(leftover.buffers))
            gw_remove_tree(leftover.buffers);
        gw_remove_tree(home);
    } else if (found != NULL) {
        found(&leftover, context);
    }
end:
    close(fd);
}

void gw_leftovers_remove(void (*found)(const struct gw_leftover *leftover, void *context), void *context)
{
    const char *bases[BASES];
    find_bases(bases);
    for (size_t i = 0; i < BASES; i++) {
        DIR *folder = bases[i] != NULL ? opendir(bases[i]) : NULL;
        struct dirent *entry;
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            char home[PATH_MAX];
            if (is_made_of(entry->d_name, HOME_NAME) &&
                snprintf(home, sizeof(home), "%s/%s", bases[i], entry->d_name) < (int)sizeof(home))
                look_at(home, found, context);
        }
        if (folder != NULL)
            closedir(folder);
    }
}
