#include "analyzer/session/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIRECTORIES 32
#define RESERVED_BYTES (256 << 10)

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path) != 0 ? errno : 0;
}

int gw_remove_tree(const char *path)
{
    int result = nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    return result < 0 ? -errno : -result;
}

/* nftw passes no context to its callback. */
static _Thread_local unsigned long long tree_bytes;

static int add_size(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)path;
    (void)where;
    if (type == FTW_F)
        tree_bytes += (unsigned long long)status->st_size;
    return 0;
}

unsigned long long gw_tree_bytes(const char *path)
{
    tree_bytes = 0;
    nftw(path, add_size, OPEN_DIRECTORIES, FTW_PHYS);
    return tree_bytes;
}

/*
 * Makes a directory for this process, named by its host and number behind `prefix`. Containers may have the same host
 * name and process number: the next free name is taken then.
 */
static int make_own_dir(const char *prefix, char ret_path[PATH_MAX])
{
    char host[65] = "", another[16] = "";
    gethostname(host, sizeof(host) - 1);
    for (int i = 2; i < 100000; i++) {
        if (snprintf(ret_path, PATH_MAX, "%s%s-%ld%s", prefix, host, (long)getpid(), another) >= PATH_MAX)
            return -ENAMETOOLONG;
        if (mkdir(ret_path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
        snprintf(another, sizeof(another), "-%d", i);
    }
    return -EEXIST;
}

/*
 * Makes `name` the directory of `job` or finds that it already is. It is made under another name with job.json in it
 * and renamed, so that another rank never sees half of it; renaming onto a directory only works while that is empty.
 */
static int claim(const char *name, const struct gw_job *job)
{
    char draft[PATH_MAX], prefix[PATH_MAX], file[PATH_MAX + 16];
    int result = 0;
    json_t *there = NULL;
    json_t *mine = json_pack("{s:s, s:s}", "schema", "gpuwitness.job/1", "job", job->id);
    if (mine == NULL)
        return -ENOMEM;
    if (snprintf(prefix, sizeof(prefix), "%s.", name) >= (int)sizeof(prefix))
        result = -ENAMETOOLONG;
    if (result == 0)
        result = make_own_dir(prefix, draft);
    if (result != 0) {
        json_decref(mine);
        return result;
    }
    snprintf(file, sizeof(file), "%s/job.json", draft);
    errno = EIO;
    if (json_dump_file(mine, file, JSON_INDENT(2)) != 0) {
        result = -errno;
        goto end;
    }
    if (rename(draft, name) == 0) {
        json_decref(mine);
        return 0;
    }
    result = -errno;
    if (result != -EEXIST && result != -ENOTEMPTY)
        goto end;
    snprintf(file, sizeof(file), "%s/job.json", name);
    there = json_load_file(file, 0, NULL);
    result = json_equal(mine, there) ? 0 : -EEXIST;
end:
    gw_remove_tree(draft);
    json_decref(there);
    json_decref(mine);
    return result;
}

int gw_run_dir_create(const char *name, const struct gw_job *job, struct gw_run_dir *ret_dir)
{
    struct gw_run_dir dir;
    char plain[PATH_MAX];
    size_t length = strlen(name);

    /* "RUN/" names the same directory, but nothing can be renamed to it or put beside it under that name. */
    if (length >= sizeof(plain))
        return -ENAMETOOLONG;
    memcpy(plain, name, length + 1);
    while (length > 1 && plain[length - 1] == '/')
        plain[--length] = '\0';

    int result = job != NULL ? claim(plain, job) : mkdir(plain, 0777) == 0 ? 0 : -errno;
    if (result != 0)
        return result;
    if (realpath(plain, dir.root) == NULL)
        return -errno;
    if (job == NULL) {
        memcpy(dir.path, dir.root, sizeof(dir.path));
    } else {
        char prefix[PATH_MAX + 8];
        snprintf(prefix, sizeof(prefix), "%s/rank-", dir.root);
        result = make_own_dir(prefix, dir.path);
        if (result != 0)
            return result;
    }
    *ret_dir = dir;
    return 0;
}

void gw_run_dir_reserve(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/.reserve", dir);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    /* Without it only a full disk gets worse. */
    (void)!posix_fallocate(file, 0, RESERVED_BYTES);
    close(file);
}

void gw_run_dir_release(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/.reserve", dir);
    unlink(path);
}
