#include "analyzer/session/unseen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/session/children.h"
#include "analyzer/session/program_file.h"

#define FIRST_NS 100000000
#define LONGEST_NS 2000000000
#define LOOKING_SHARE 200 /* the recorder looks for no more than that part of its time */
#define LINES_MAX 64u

enum state { NEW, WITHOUT, SETTLED }; /* WITHOUT the library, but it may not have come so far */

struct known {
    pid_t pid;
    dev_t device; /* of the program's file: it changes when the process executes another one */
    ino_t file;
    enum state state;
};

struct gw_unseen {
    char *library;
    pid_t keeper;
    int64_t interval_ns, due_ns; /* due 0: no look yet */
    struct known *known;
    size_t count, capacity;
    json_t *lines;
};

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Whether a line of a file of the process, which begins with `start` and ends with `end`, has one of those words in it;
 * -errno when the file cannot be read. */
static int has_word(pid_t pid, const char *name, const char *start, int end, const char *const *words, size_t count)
{
    FILE *file = open_of(pid, name);
    if (file == NULL)
        return -errno;
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (!found && getdelim(&line, &room, end, file) > 0) {
        for (size_t i = 0; i < count && !found; i++)
            found = strncmp(line, start, strlen(start)) == 0 && strstr(line, words[i]) != NULL;
    }
    if (!found && line == NULL) /* the process has ended */
        found = -ESRCH;
    free(line);
    fclose(file);
    return found;
}

static const char *why(const struct gw_unseen *unseen, pid_t pid)
{
    struct gw_program_file file;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (gw_program_file_inspect(path, &file) == 0) {
        if (file.kind == GW_FILE_ELF && file.other_machine)
            return "its program is for another processor or word size";
        if (file.kind == GW_FILE_ELF && file.is_static)
            return "its program is linked statically";
    }
    const char *const words[] = {unseen->library};
    if (has_word(pid, "environ", "LD_PRELOAD=", '\0', words, 1) == 0)
        return "LD_PRELOAD was taken out of its environment";
    return "the library was not loaded into it";
}

static int tell(struct gw_unseen *unseen, pid_t pid, const char *reason)
{
    static const char *const gpu[] = {"/libcuda.so", "/dev/nvidia"};
    char name[64], line[256];
    if (json_array_size(unseen->lines) >= LINES_MAX)
        return 0;
    gw_process_name(pid, name);
    snprintf(line, sizeof(line), "process %d (%s): %s%s", (int)pid, name, reason,
             has_word(pid, "maps", "", '\n', gpu, 2) > 0 ? ", and it uses a GPU" : "");
    return json_array_append_new(unseen->lines, json_string(line)) == 0 ? 0 : -ENOMEM;
}

/* The entry of a process and the program it runs; NULL without memory. */
static struct known *entry_of(struct gw_unseen *unseen, pid_t pid, const struct stat *file)
{
    struct known *entry = NULL;
    for (size_t i = 0; i < unseen->count && entry == NULL; i++)
        entry = unseen->known[i].pid == pid ? &unseen->known[i] : NULL;
    if (entry != NULL && entry->device == file->st_dev && entry->file == file->st_ino)
        return entry;
    if (entry == NULL && unseen->count == unseen->capacity) {
        size_t capacity = unseen->capacity ? 2 * unseen->capacity : 64;
        struct known *grown = realloc(unseen->known, capacity * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        unseen->known = grown;
        unseen->capacity = capacity;
    }
    entry = entry != NULL ? entry : &unseen->known[unseen->count++];
    *entry = (struct known){pid, file->st_dev, file->st_ino, NEW};
    return entry;
}

static int look_at(struct gw_unseen *unseen, pid_t pid)
{
    const char *const words[] = {unseen->library};
    char path[64];
    struct stat file = {0};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    /* The program of a process with other privileges is not told; that of one that has ended neither. */
    if (stat(path, &file) != 0 && errno != EACCES)
        return 0;
    struct known *entry = entry_of(unseen, pid, &file);
    if (entry == NULL)
        return -ENOMEM;
    if (entry->state == SETTLED)
        return 0;
    int loaded = has_word(pid, "maps", "", '\n', words, 1);
    if (loaded == 0 && entry->state == NEW) {
        entry->state = WITHOUT;
        return 0;
    }
    if (loaded == -ENOENT || loaded == -ESRCH)
        return 0;
    entry->state = SETTLED;
    return loaded == 1 ? 0 : tell(unseen, pid, loaded < 0 ? "it runs with other privileges" : why(unseen, pid));
}

struct pids {
    pid_t *list;
    size_t count, capacity;
};

static int add(struct pids *pids, pid_t pid)
{
    if (pids->count == pids->capacity) {
        size_t capacity = pids->capacity ? 2 * pids->capacity : 64;
        pid_t *grown = realloc(pids->list, capacity * sizeof(*grown));
        if (grown == NULL)
            return -ENOMEM;
        pids->list = grown;
        pids->capacity = capacity;
    }
    pids->list[pids->count++] = pid;
    return 0;
}

struct adding {
    struct pids *pids;
    int status;
};

static bool add_child(pid_t child, pid_t thread, void *data)
{
    struct adding *adding = data;
    (void)thread;
    adding->status = add(adding->pids, child);
    return adding->status != 0;
}

static int add_children(struct pids *pids, pid_t parent)
{
    struct adding adding = {.pids = pids};
    gw_each_child(parent, add_child, &adding);
    return adding.status;
}

static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

int64_t gw_unseen_look(struct gw_unseen *unseen, int64_t now_ns)
{
    struct pids pids = {0};
    int64_t began_ns = cpu_ns();
    if (unseen->due_ns != 0 && now_ns < unseen->due_ns)
        return unseen->due_ns;
    int status = unseen->due_ns == 0 ? 0 : add_children(&pids, getpid());
    for (size_t i = 0; i < pids.count && !status; i++) {
        if (pids.list[i] == unseen->keeper)
            continue;
        status = look_at(unseen, pids.list[i]);
        status = status ? status : add_children(&pids, pids.list[i]);
    }
    free(pids.list);
    unseen->interval_ns = unseen->due_ns == 0 ? FIRST_NS : 2 * unseen->interval_ns;
    if (unseen->interval_ns > LONGEST_NS)
        unseen->interval_ns = LONGEST_NS;
    int64_t took_ns = cpu_ns() - began_ns;
    int64_t pause_ns = LOOKING_SHARE * took_ns > unseen->interval_ns ? LOOKING_SHARE * took_ns : unseen->interval_ns;
    unseen->due_ns = now_ns + pause_ns;
    return unseen->due_ns;
}

struct gw_unseen *gw_unseen_create(const char *library, pid_t keeper)
{
    struct gw_unseen *unseen = calloc(1, sizeof(*unseen));
    if (unseen == NULL)
        return NULL;
    *unseen = (struct gw_unseen){.library = strdup(library), .keeper = keeper, .lines = json_array()};
    if (unseen->library == NULL || unseen->lines == NULL) {
        gw_unseen_destroy(unseen);
        return NULL;
    }
    return unseen;
}

json_t *gw_unseen_lines(const struct gw_unseen *unseen)
{
    return json_incref(unseen->lines);
}

void gw_unseen_destroy(struct gw_unseen *unseen)
{
    if (unseen == NULL)
        return;
    free(unseen->library);
    free(unseen->known);
    json_decref(unseen->lines);
    free(unseen);
}
