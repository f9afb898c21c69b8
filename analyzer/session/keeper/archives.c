#include "analyzer/session/keeper/archives.h"

#include "analyzer/session/packets.h"
#include "analyzer/session/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT_FILES "gpuwitness-context_"
#define INDEX ".idx"        /* readers do without */
#define STRIPPED "stripped" /* an empty file in a chunk that was removed but for what it announced */

static unsigned long number_of(const char *chunk)
{
    const char *dash = strrchr(chunk, '-');
    return dash != NULL ? strtoul(dash + 1, NULL, 10) : 0;
}

static int by_number(const struct dirent **left, const struct dirent **right)
{
    unsigned long a = number_of((*left)->d_name), b = number_of((*right)->d_name);
    return a < b ? -1 : a > b;
}

static int is_chunk(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strrchr(entry->d_name, '-') != NULL;
}

/* nftw passes no context to its callback. */
static _Thread_local bool announces;

static int strip_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
    const char *name = path + where->base;
    (void)status;
    if (type != FTW_F || strcmp(name, "metadata") == 0)
        return 0;
    size_t length = strlen(name);
    bool is_index = length > strlen(INDEX) && strcmp(name + length - strlen(INDEX), INDEX) == 0;
    if (!is_index && strncmp(name, CONTEXT_FILES, strlen(CONTEXT_FILES)) == 0 && gw_packets_have_events(path)) {
        announces = true;
        return 0;
    }
    return unlink(path) == 0 ? 0 : errno;
}

static int strip(const char *chunk, const char *mark)
{
    announces = false;
    int result = nftw(chunk, strip_file, 16, FTW_PHYS);
    if (result != 0)
        return result < 0 ? -errno : -result;
    if (!announces)
        return gw_remove_tree(chunk);
    int file = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0660);
    if (file < 0)
        return -errno;
    close(file);
    return 0;
}

int gw_archives_trim(const char *trace_path, unsigned keep, unsigned *chunks, unsigned long long *bytes)
{
    char archives[PATH_MAX];
    struct dirent **entries = NULL;
    int result = 0;
    unsigned left = 0;
    if (snprintf(archives, sizeof(archives), "%s/archives", trace_path) >= (int)sizeof(archives))
        return -ENAMETOOLONG;
    int count = scandir(archives, &entries, is_chunk, by_number);
    if (count < 0)
        return errno == ENOENT ? 0 : -errno;
    for (int i = count - 1; i >= 0; i--) {
        char chunk[PATH_MAX], mark[PATH_MAX];
        if (snprintf(chunk, sizeof(chunk), "%s/%s", archives, entries[i]->d_name) < (int)sizeof(chunk) &&
            snprintf(mark, sizeof(mark), "%s/" STRIPPED, chunk) < (int)sizeof(mark) && access(mark, F_OK) != 0 &&
            ++left > keep) {
            unsigned long long before = gw_tree_bytes(chunk);
            int removed = strip(chunk, mark);
            *chunks += removed == 0;
            *bytes += before - gw_tree_bytes(chunk);
            result = result == 0 ? removed : result;
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}
