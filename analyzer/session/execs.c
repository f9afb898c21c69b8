#include "analyzer/session/execs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "analyzer/session/children.h"
#include "shim/api/exec_note.h"

#define FIFO_BYTES (1 << 20)
#define WATCHED_MAX 256u /* at a time */
#define KEPT_MAX 4096u
#define ANCESTORS_MAX 16u
#define INPUT_BYTES_MAX (64u << 20) /* more is not hashed */

struct ancestor {
    uint32_t pid, thread; /* thread: of it, which made the next younger one; 0: not known */
};

struct exec {
    uint64_t begin_ns, end_ns; /* end_ns 0: it still runs */
    uint64_t input_bytes, input_hash;
    uint32_t pid;
    int pidfd; /* -1: it has ended */
    bool has_input;
    char name[32];
    struct ancestor ancestors[ANCESTORS_MAX]; /* its parent first */
    uint32_t ancestor_count;
};

struct gw_execs {
    char *path;
    int fifo, stop;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    struct exec *list;
    size_t count, capacity, left_out;
    char unread[4 * GW_EXEC_NOTE_BYTES]; /* of the FIFO: the begin of a note */
    size_t unread_bytes;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- where it comes from ---- */

struct making {
    pid_t child, maker;
};

static bool is_made(pid_t child, pid_t thread, void *data)
{
    struct making *making = data;
    making->maker = child == making->child ? thread : 0;
    return making->maker != 0;
}

/* The thread of `parent` that made the process, 0 when that is gone. */
static uint32_t maker_of(uint32_t parent, uint32_t pid)
{
    struct making making = {.child = (pid_t)pid};
    gw_each_child((pid_t)parent, is_made, &making);
    return (uint32_t)making.maker;
}

/* Its ancestors up to the recorder; the first is known from the note. */
static void find_ancestors(struct exec *exec, const struct gw_exec_note *note)
{
    uint32_t child = exec->pid, parent = note->parent, thread = note->thread;
    while (parent > 1 && parent != (uint32_t)getpid() && exec->ancestor_count < ANCESTORS_MAX) {
        exec->ancestors[exec->ancestor_count++] =
            (struct ancestor){parent, thread != 0 ? thread : maker_of(parent, child)};
        child = parent;
        thread = 0;
        parent = (uint32_t)gw_parent_of((pid_t)child);
    }
}

/* ---- what it compiles ---- */

static bool is_source(const char *argument)
{
    static const char *const ends[] = {".ptx", ".cu",    ".ii",     ".c",   ".cc", ".cpp", ".cxx", ".i",    ".nvvm",
                                       ".ll",  ".cubin", ".fatbin", ".gpu", ".o",  ".s",   ".bc",  ".ltoir"};
    const size_t length = strlen(argument);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && strcmp(argument + length - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static void hash_file(struct exec *exec, int fd)
{
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0)
        return;
    const size_t bytes = (size_t)file.st_size;
    exec->has_input = true;
    exec->input_bytes = bytes;
    if (bytes > INPUT_BYTES_MAX)
        return;
    char *content = malloc(bytes);
    /* Read, not mapped: the compiler's owner may cut the file off. */
    if (content != NULL && pread(fd, content, bytes, 0) == (ssize_t)bytes)
        exec->input_hash = XXH3_64bits(content, bytes);
    free(content);
}

/* The last of its arguments that names a source which is there: what stands before may be the value of an option. A
 * name after -o is the output's. */
static void find_input(struct exec *exec, const char *text, const char *end)
{
    bool output = false;
    int fd = -1;
    for (const char *argument = text + strlen(text) + 1; argument < end; argument += strlen(argument) + 1) {
        char path[PATH_MAX];
        if (argument[0] != '-' && !output && is_source(argument)) {
            snprintf(path, sizeof(path), "/proc/%u/%s%s", exec->pid, argument[0] == '/' ? "root" : "cwd/", argument);
            int found = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
            if (found >= 0 && fd >= 0)
                close(fd);
            fd = found >= 0 ? found : fd;
        }
        output = strcmp(argument, "-o") == 0 || strcmp(argument, "--output-file") == 0;
    }
    if (fd >= 0) {
        hash_file(exec, fd);
        close(fd);
    }
}

/* ---- notes ---- */

/* What the process was last said to execute, among the first `count`. */
static struct exec *latest(struct gw_execs *execs, size_t count, uint32_t pid)
{
    for (size_t i = count; i-- > 0;) {
        if (execs->list[i].pid == pid)
            return &execs->list[i];
    }
    return NULL;
}

static void end_exec(struct exec *exec, uint64_t end_ns)
{
    exec->end_ns = end_ns > exec->begin_ns ? end_ns : exec->begin_ns;
    if (exec->pidfd >= 0)
        close(exec->pidfd);
    exec->pidfd = -1;
}

/* Where in the list it belongs: behind what the process executed before it. Notes of one process may come in another
 * order, for its parent says that it started it, and by then it may have executed the next in its own place. */
static size_t place_of(const struct gw_execs *execs, const struct gw_exec_note *note)
{
    size_t place = execs->count;
    for (size_t i = execs->count; i-- > 0;) {
        const bool own = execs->list[i].pid == note->pid;
        if (own && execs->list[i].begin_ns <= note->begin_ns)
            break;
        if (own)
            place = i;
    }
    return place;
}

/* It was not executed after all: what the process executed before goes on. The process may have ended since. */
static void take_back(struct gw_execs *execs, struct exec *failed)
{
    const struct exec undone = *failed;
    memmove(failed, failed + 1, (size_t)(&execs->list[execs->count] - (failed + 1)) * sizeof(*failed));
    execs->count--;
    struct exec *before = latest(execs, execs->count, undone.pid);
    if (before != NULL && before->end_ns == undone.begin_ns) {
        before->end_ns = undone.end_ns;
        before->pidfd = undone.pidfd;
    } else if (undone.pidfd >= 0) {
        close(undone.pidfd);
    }
}

static bool make_room(struct gw_execs *execs)
{
    if (execs->count < execs->capacity)
        return true;
    const size_t capacity = execs->capacity != 0 ? 2 * execs->capacity : 64;
    struct exec *grown = capacity <= KEPT_MAX ? realloc(execs->list, capacity * sizeof(*grown)) : NULL;
    if (grown == NULL)
        return false;
    execs->list = grown;
    execs->capacity = capacity;
    return true;
}

/* text: the program and its arguments, the last byte a NUL. */
static void take_note(struct gw_execs *execs, const struct gw_exec_note *note, const char *text, const char *end)
{
    if (note->what == GW_EXEC_FAILED) {
        struct exec *failed = latest(execs, execs->count, note->pid);
        if (failed != NULL)
            take_back(execs, failed);
        return;
    }
    const size_t place = place_of(execs, note);
    struct exec *before = latest(execs, place, note->pid);
    /* A compiler that executes another in its own place: one goes over into the next, though its end may have been
     * seen, too late, before this note was. */
    if (before != NULL && (before->end_ns == 0 || before->end_ns > note->begin_ns))
        end_exec(before, note->begin_ns);
    if (!make_room(execs)) {
        execs->left_out++;
        return;
    }
    struct exec exec = {.begin_ns = note->begin_ns, .pid = note->pid};
    const char *slash = strrchr(text, '/');
    snprintf(exec.name, sizeof(exec.name), "%s", slash != NULL ? slash + 1 : text);
    if (place < execs->count) {
        exec.pidfd = -1;
        exec.end_ns = execs->list[place].begin_ns;
    } else {
        exec.pidfd = (int)syscall(SYS_pidfd_open, (pid_t)exec.pid, 0);
        if (exec.pidfd < 0) /* it has ended, within the time that the note took */
            exec.end_ns = now_ns();
    }
    find_input(&exec, text, end);
    find_ancestors(&exec, note);
    memmove(&execs->list[place + 1], &execs->list[place], (execs->count - place) * sizeof(exec));
    execs->list[place] = exec;
    execs->count++;
}

/* Takes whole notes off the front; what is no note ends all that was read with it. Returns what is left. */
static size_t take_notes(struct gw_execs *execs, char *buffer, size_t bytes)
{
    size_t at = 0;
    while (bytes - at >= GW_EXEC_NOTE_HEAD) {
        struct gw_exec_note note;
        memcpy(&note, buffer + at, GW_EXEC_NOTE_HEAD);
        if (note.bytes <= GW_EXEC_NOTE_HEAD || note.bytes > GW_EXEC_NOTE_BYTES)
            return 0;
        if (note.bytes > bytes - at)
            break;
        if (buffer[at + note.bytes - 1] == '\0')
            take_note(execs, &note, buffer + at + GW_EXEC_NOTE_HEAD, buffer + at + note.bytes);
        at += note.bytes;
    }
    memmove(buffer, buffer + at, bytes - at);
    return bytes - at;
}

/* ---- the thread ---- */

/* Fills the list of descriptors with those of compilers that run; returns how many. */
static size_t list_running(struct gw_execs *execs, struct pollfd *descriptors, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < execs->count && count < room; i++) {
        if (execs->list[i].pidfd >= 0)
            descriptors[count++] = (struct pollfd){.fd = execs->list[i].pidfd, .events = POLLIN};
    }
    return count;
}

static void end_those(struct gw_execs *execs, const struct pollfd *descriptors, size_t count, uint64_t end_ns)
{
    for (size_t d = 0; d < count; d++) {
        for (size_t i = 0; descriptors[d].revents != 0 && i < execs->count; i++) {
            if (execs->list[i].pidfd == descriptors[d].fd)
                end_exec(&execs->list[i], end_ns);
        }
    }
}

/* Takes what there is to see, without waiting. With the lock held. */
static void look(struct gw_execs *execs)
{
    struct pollfd descriptors[WATCHED_MAX];
    const size_t count = list_running(execs, descriptors, WATCHED_MAX);
    if (poll(descriptors, count, 0) > 0)
        end_those(execs, descriptors, count, now_ns());
    for (size_t bytes = 0; bytes < FIFO_BYTES;) {
        const ssize_t got =
            read(execs->fifo, execs->unread + execs->unread_bytes, sizeof(execs->unread) - execs->unread_bytes);
        if (got <= 0)
            break;
        bytes += (size_t)got;
        execs->unread_bytes = take_notes(execs, execs->unread, execs->unread_bytes + (size_t)got);
    }
}

static void *watch(void *data)
{
    struct gw_execs *execs = data;
    for (;;) {
        struct pollfd descriptors[2 + WATCHED_MAX] = {{.fd = execs->stop, .events = POLLIN},
                                                      {.fd = execs->fifo, .events = POLLIN}};
        pthread_mutex_lock(&execs->lock);
        size_t count = list_running(execs, descriptors + 2, WATCHED_MAX);
        pthread_mutex_unlock(&execs->lock);
        if (poll(descriptors, 2 + count, -1) < 0)
            continue;
        /* What woke it may have been taken by who asked for the list, and its descriptor be another's by now. */
        pthread_mutex_lock(&execs->lock);
        look(execs);
        pthread_mutex_unlock(&execs->lock);
        if (descriptors[0].revents != 0)
            return NULL;
    }
}

int gw_execs_create(const char *folder, struct gw_execs **ret_execs)
{
    int ret = -ENOMEM;
    struct gw_execs *execs = calloc(1, sizeof(*execs));
    if (execs == NULL)
        return ret;
    execs->fifo = execs->stop = -1;
    if (asprintf(&execs->path, "%s/execs", folder) < 0) {
        execs->path = NULL;
        goto end;
    }
    if (mkfifo(execs->path, 0600) != 0 ||
        (execs->fifo = open(execs->path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 || /* it never ends so */
        (execs->stop = eventfd(0, EFD_CLOEXEC)) < 0) {
        ret = -errno;
        goto end;
    }
    fcntl(execs->fifo, F_SETPIPE_SZ, FIFO_BYTES); /* bursts; smaller will do */
    pthread_mutex_init(&execs->lock, NULL);
    ret = -pthread_create(&execs->thread, NULL, watch, execs);
    if (ret != 0) {
        pthread_mutex_destroy(&execs->lock);
        goto end;
    }
    *ret_execs = execs;
    execs = NULL;
end:
    if (execs != NULL) {
        if (execs->fifo >= 0)
            close(execs->fifo);
        if (execs->stop >= 0)
            close(execs->stop);
        free(execs->path);
        free(execs);
    }
    return ret;
}

const char *gw_execs_path(const struct gw_execs *execs)
{
    return execs->path;
}

static json_t *exec_json(const struct exec *exec)
{
    json_t *ancestors = json_array(), *input = NULL;
    for (uint32_t i = 0; i < exec->ancestor_count; i++)
        json_array_append_new(
            ancestors, json_pack("[I, I]", (json_int_t)exec->ancestors[i].pid, (json_int_t)exec->ancestors[i].thread));
    if (exec->has_input) {
        char hash[20];
        snprintf(hash, sizeof(hash), "%016" PRIx64, exec->input_hash);
        input = json_pack("{s:I, s:s}", "bytes", (json_int_t)exec->input_bytes, "hash", hash);
    }
    return json_pack("{s:I, s:s, s:I, s:o, s:o, s:o*}", "pid", (json_int_t)exec->pid, "name", exec->name, "begin_ns",
                     (json_int_t)exec->begin_ns, "end_ns",
                     exec->end_ns != 0 ? json_integer((json_int_t)exec->end_ns) : json_null(), "ancestors", ancestors,
                     "input", input);
}

static int by_begin(const void *left, const void *right)
{
    const struct exec *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

json_t *gw_execs_json(struct gw_execs *execs)
{
    json_t *list = json_array();
    pthread_mutex_lock(&execs->lock);
    look(execs); /* the thread may not have had a CPU since */
    if (execs->count != 0)
        qsort(execs->list, execs->count, sizeof(*execs->list), by_begin);
    for (size_t i = 0; i < execs->count && list != NULL; i++) {
        if (json_array_append_new(list, exec_json(&execs->list[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    json_t *all = list != NULL ? json_pack("{s:o, s:I}", "list", list, "left_out", (json_int_t)execs->left_out) : NULL;
    pthread_mutex_unlock(&execs->lock);
    return all;
}

void gw_execs_destroy(struct gw_execs *execs)
{
    if (execs == NULL)
        return;
    eventfd_write(execs->stop, 1);
    pthread_join(execs->thread, NULL);
    for (size_t i = 0; i < execs->count; i++) {
        if (execs->list[i].pidfd >= 0)
            close(execs->list[i].pidfd);
    }
    pthread_mutex_destroy(&execs->lock);
    close(execs->fifo);
    close(execs->stop);
    unlink(execs->path);
    free(execs->list);
    free(execs->path);
    free(execs);
}
