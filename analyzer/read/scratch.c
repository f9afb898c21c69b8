#include "analyzer/read/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "gpuwitness-read-"

static const char *temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : P_tmpdir;
}

/* Removes what is in the folder behind the descriptor. */
static void empty(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (!entries) {
        if (copy >= 0) {
            close(copy);
        }
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(folder, entry->d_name, 0) == 0) {
            continue;
        }
        int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            empty(inner);
            close(inner);
            unlinkat(folder, entry->d_name, AT_REMOVEDIR);
        }
    }
    closedir(entries);
}

/* Whether the path still leads to the open folder. */
static bool is_there(const char *path, int folder)
{
    struct stat named, open_one;
    return lstat(path, &named) == 0 && fstat(folder, &open_one) == 0 && named.st_dev == open_one.st_dev &&
           named.st_ino == open_one.st_ino;
}

int gw_scratch_create(struct gw_scratch *ret_scratch)
{
    char *template = NULL;
    if (asprintf(&template, "%s/" PREFIX "XXXXXX", temporary()) < 0) {
        return -ENOMEM;
    }
    for (;;) {
        if (!mkdtemp(template)) {
            int status = -errno;
            free(template);
            return status;
        }
        /* One who cleans up may have come before the lock: then there is nothing behind it. A file system without locks
         * gives none to those either. */
        int lock = open(template, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (lock >= 0) {
            flock(lock, LOCK_EX);
        }
        if (lock >= 0 && is_there(template, lock)) {
            *ret_scratch = (struct gw_scratch){template, lock};
            return 0;
        }
        if (lock < 0 && errno != ENOENT) {
            int status = -errno;
            rmdir(template);
            free(template);
            return status;
        }
        if (lock >= 0) {
            close(lock);
        }
        memcpy(template + strlen(template) - 6, "XXXXXX", 6);
    }
}

int gw_scratch_failed(int status, struct gw_error *error)
{
    if (status == -ENOMEM) {
        return status;
    }
    return gw_error_set(error, status, "no temporary files can be written to %s: %s; set TMPDIR to a folder with room",
                        temporary(), strerror(-status));
}

void gw_scratch_remove(struct gw_scratch *scratch)
{
    if (!scratch->path) {
        return;
    }
    empty(scratch->lock);
    rmdir(scratch->path);
    close(scratch->lock);
    free(scratch->path);
    *scratch = (struct gw_scratch){0};
}

static void remove_if_left(const char *path)
{
    struct stat info;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return;
    }
    if (fstat(folder, &info) == 0 && info.st_uid == geteuid() && flock(folder, LOCK_EX | LOCK_NB) == 0 &&
        is_there(path, folder)) {
        empty(folder);
        rmdir(path);
    }
    close(folder);
}

void gw_scratch_clean(void)
{
    DIR *entries = opendir(temporary());
    if (!entries) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries));) {
        char *path = NULL;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            asprintf(&path, "%s/%s", temporary(), entry->d_name) >= 0) {
            remove_if_left(path);
            free(path);
        }
    }
    closedir(entries);
}
