#include "analyzer/read/read.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/stream_graph.h"
#include "analyzer/read/trace_files.h"

#define THREADS_MAX 64

struct task {
    const struct gw_trace_directory *directory;
    uint64_t port;
    struct gw_record_stream *stream;
};

struct pool {
    pthread_mutex_t lock; /* everything below, and creating and destroying graphs */
    struct task *tasks;
    size_t task_count, next_task;
    const struct gw_read_progress *progress;
    uint64_t done_bytes, total_bytes;
    struct gw_records *records;
    int status;
    struct gw_error error;
};

/* What one running graph tells of its packets. */
struct packet_counter {
    struct pool *pool;
    const struct gw_stream_file *file; /* NULL when the graph's file is not known */
    size_t packets;
};

static void packet_done(void *user)
{
    struct packet_counter *counter = user;
    struct pool *pool = counter->pool;
    if (!counter->file || counter->packets >= counter->file->packet_count) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->done_bytes += counter->file->packet_bytes[counter->packets++];
    if (pool->progress && pool->progress->update) {
        pool->progress->update(pool->progress->user, pool->done_bytes, pool->total_bytes);
    }
    pthread_mutex_unlock(&pool->lock);
}

static const struct gw_stream_file *find_file(const struct gw_trace_directory *directory,
                                              const struct gw_stream_graph *graph)
{
    uint64_t class_id, instance_id;
    if (!gw_stream_graph_identity(graph, &class_id, &instance_id)) {
        return NULL;
    }
    for (size_t i = 0; i < directory->file_count; i++) {
        const struct gw_stream_file *file = &directory->files[i];
        if (file->packet_count && file->class_id == class_id && file->instance_id == instance_id) {
            return file;
        }
    }
    return NULL;
}

static void *work(void *argument)
{
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->status && pool->next_task < pool->task_count) {
        struct task *task = &pool->tasks[pool->next_task++];
        struct packet_counter counter = {.pool = pool};
        struct gw_stream_graph *graph = NULL;
        struct gw_error error = {""};
        uint64_t skipped = 0;
        int64_t offset = 0;
        int status = gw_stream_graph_create(task->directory->repaired_path, task->port, task->stream, packet_done,
                                            &counter, &graph, &error);
        if (!status) {
            counter.file = find_file(task->directory, graph);
            pthread_mutex_unlock(&pool->lock);
            status = gw_stream_graph_run(graph, &skipped, &offset, &error);
            pthread_mutex_lock(&pool->lock);
            gw_stream_graph_destroy(graph);
        }
        pool->records->skipped_events += skipped;
        if (offset) {
            pool->records->realtime_offset_ns = offset;
        }
        if (status && !pool->status) {
            pool->status = status;
            pool->error = error;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static size_t online_cpus(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (size_t)count;
}

static void run_pool(struct pool *pool)
{
    pthread_t threads[THREADS_MAX];
    size_t wanted = online_cpus() < pool->task_count ? online_cpus() : pool->task_count;
    size_t started = 0;
    /* This thread works too; when no other can be started it does all of it. */
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, pool) == 0) {
        started++;
    }
    work(pool);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int add_tasks(struct pool *pool, const struct gw_trace_directories *directories, struct gw_error *error)
{
    for (size_t d = 0; d < directories->count; d++) {
        const struct gw_trace_directory *directory = &directories->items[d];
        uint64_t ports = 0;
        int status = gw_stream_graph_count(directory->repaired_path, &ports, error);
        if (status) {
            return status;
        }
        struct task *grown = realloc(pool->tasks, (pool->task_count + ports + 1) * sizeof(*grown));
        if (!grown) {
            return gw_error_set(error, -ENOMEM, "no memory to read the trace");
        }
        pool->tasks = grown;
        for (uint64_t p = 0; p < ports; p++) {
            pool->tasks[pool->task_count++] = (struct task){.directory = directory, .port = p};
        }
        for (size_t f = 0; f < directory->file_count; f++) {
            pool->total_bytes += directory->files[f].whole_bytes;
        }
    }
    return 0;
}

/* A cut file is a loss from its last whole packet on, stored in the last stream. */
static int add_file_losses(struct gw_records *records, const struct gw_trace_directories *directories)
{
    for (size_t d = 0; d < directories->count; d++) {
        for (size_t f = 0; f < directories->items[d].file_count; f++) {
            const struct gw_stream_file *file = &directories->items[d].files[f];
            if (file->whole_bytes != file->size_bytes) {
                int status = gw_record_stream_add_loss(&records->streams[records->stream_count - 1], file->end_ns,
                                                       UINT64_MAX, 0);
                if (status) {
                    return status;
                }
            }
        }
    }
    return 0;
}

static bool same_stream(const struct gw_stream_file *a, const struct gw_stream_file *b)
{
    return a->class_id == b->class_id && a->instance_id == b->instance_id && memcmp(a->uuid, b->uuid, 16) == 0;
}

/* Whether no other file holds an earlier part of the file's stream: it may be spread over several directories. */
static bool is_earliest(const struct gw_trace_directories *directories, const struct gw_stream_file *file)
{
    for (size_t d = 0; d < directories->count; d++) {
        for (size_t f = 0; f < directories->items[d].file_count; f++) {
            const struct gw_stream_file *other = &directories->items[d].files[f];
            if (other->packet_count && same_stream(other, file) && other->first_number < file->first_number) {
                return false;
            }
        }
    }
    return true;
}

/* A stream whose first packet is not its number 0 was let go up to that packet. */
static int add_let_go(struct gw_records *records, const struct gw_trace_directories *directories)
{
    for (size_t d = 0; d < directories->count; d++) {
        for (size_t f = 0; f < directories->items[d].file_count; f++) {
            const struct gw_stream_file *file = &directories->items[d].files[f];
            if (file->packet_count && file->first_number && is_earliest(directories, file) &&
                gw_record_stream_add_let_go(&records->streams[records->stream_count - 1], file->begin_ns)) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

int gw_records_read(const char *path, const struct gw_read_progress *progress, struct gw_records **ret_records,
                    struct gw_error *error)
{
    struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .progress = progress};
    struct gw_trace_directories directories = {0};
    pool.records = calloc(1, sizeof(*pool.records));
    int status = pool.records ? gw_trace_directories_find(path, &directories, error)
                              : gw_error_set(error, -ENOMEM, "no memory to read the trace");
    if (!status) {
        status = add_tasks(&pool, &directories, error);
    }
    if (status) {
        goto end;
    }
    /* The last stream holds no events, only the losses of cut files. */
    pool.records->streams = calloc(pool.task_count + 1, sizeof(*pool.records->streams));
    if (!pool.records->streams) {
        status = gw_error_set(error, -ENOMEM, "no memory to read the trace");
        goto end;
    }
    pool.records->trace_count = directories.count;
    pool.records->stream_count = pool.task_count + 1;
    for (size_t i = 0; i < pool.task_count; i++) {
        pool.tasks[i].stream = &pool.records->streams[i];
    }
    run_pool(&pool);
    status = pool.status;
    if (status) {
        gw_error_set(error, status, "%s", pool.error.text);
    } else if (add_file_losses(pool.records, &directories) || add_let_go(pool.records, &directories)) {
        status = gw_error_set(error, -ENOMEM, "no memory to read the trace");
    }
    if (!status) {
        *ret_records = pool.records;
        pool.records = NULL;
    }
end:
    gw_records_destroy(pool.records);
    gw_trace_directories_clear(&directories);
    free(pool.tasks);
    pthread_mutex_destroy(&pool.lock);
    return status;
}
