#include "analyzer/read/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/packet_reader.h"
#include "analyzer/read/parallel.h"
#include "analyzer/read/scratch.h"

/* A part of a file that takes about ten milliseconds to read. */
#define PART_LEAST_BYTES (16u << 20)
/* Parts for each thread, so that none has to wait long for the others at the end. */
#define PARTS_A_THREAD 3u

/* A range of a stream's packets. */
struct task {
    const struct gw_trace_directory *directory;
    const struct gw_stream_class *class; /* NULL: the metadata declare no such stream */
    struct gw_packet_range range;
    uint64_t size_bytes;
    struct gw_record_stream *stream;
};

struct pool {
    pthread_mutex_t lock; /* everything below */
    struct task *tasks;
    size_t task_count, task_capacity;
    struct task **order;                /* largest first */
    struct gw_trace_metadata *metadata; /* of each directory */
    size_t metadata_count;
    const struct gw_read_progress *progress;
    uint64_t done_bytes, total_bytes;
    struct gw_records *records;
    struct gw_error error; /* the first one */
};

static void packet_done(void *user, uint64_t bytes)
{
    struct pool *pool = user;
    pthread_mutex_lock(&pool->lock);
    pool->done_bytes += bytes;
    if (pool->progress && pool->progress->update) {
        pool->progress->update(pool->progress->user, pool->done_bytes, pool->total_bytes);
    }
    pthread_mutex_unlock(&pool->lock);
}

static int run_task(void *user, size_t index)
{
    struct pool *pool = user;
    const struct task *task = pool->order[index];
    struct gw_packets_read read = {.packet_done = packet_done, .user = pool};
    struct gw_error error = {""};
    int status;
    if (task->class) {
        status = gw_packets_read(task->directory->path, &task->range, task->class, task->stream, &read, &error);
    } else {
        status = gw_record_stream_add_loss(task->stream, task->range.file->packets[task->range.first].begin_ns,
                                           UINT64_MAX, 0);
    }
    gw_record_stream_close(task->stream);
    pthread_mutex_lock(&pool->lock);
    pool->records->skipped_events += read.skipped_events;
    if (status && !pool->error.text[0]) {
        pool->error = error;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int add_task(struct pool *pool, const struct task *task)
{
    if (pool->task_count == pool->task_capacity) {
        size_t capacity = pool->task_capacity ? pool->task_capacity * 2 : 16;
        struct task *grown = realloc(pool->tasks, capacity * sizeof(*grown));
        if (!grown) {
            return -ENOMEM;
        }
        pool->tasks = grown;
        pool->task_capacity = capacity;
    }
    pool->tasks[pool->task_count++] = *task;
    return 0;
}

static int add_file(struct pool *pool, const struct gw_trace_directory *directory,
                    const struct gw_trace_metadata *metadata, const struct gw_stream_file *file, uint64_t part_bytes)
{
    struct task task = {.directory = directory, .class = gw_trace_metadata_class(metadata, file)};
    struct gw_packet_range *ranges = NULL;
    size_t count = 0;
    int status = file->packet_count ? gw_packet_ranges_divide(file, part_bytes, &ranges, &count) : 0;
    for (size_t i = 0; i < count && !status; i++) {
        task.range = ranges[i];
        task.size_bytes = gw_packet_range_bytes(&ranges[i]);
        status = add_task(pool, &task);
    }
    free(ranges);
    return status;
}

static uint64_t part_bytes(uint64_t total_bytes)
{
    size_t threads = gw_parallel_threads();
    uint64_t bytes = total_bytes / (threads * PARTS_A_THREAD);
    return threads < 2 ? UINT64_MAX : bytes < PART_LEAST_BYTES ? PART_LEAST_BYTES : bytes;
}

static int larger_first(const void *left, const void *right)
{
    const struct task *a = *(struct task *const *)left, *b = *(struct task *const *)right;
    if (a->size_bytes != b->size_bytes) {
        return a->size_bytes > b->size_bytes ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

static int add_tasks(struct pool *pool, const struct gw_trace_directories *directories, struct gw_error *error)
{
    for (size_t d = 0; d < directories->count; d++) {
        for (size_t f = 0; f < directories->items[d].file_count; f++) {
            pool->total_bytes += directories->items[d].files[f].whole_bytes;
        }
    }
    pool->metadata = calloc(directories->count + 1, sizeof(*pool->metadata));
    if (!pool->metadata) {
        return gw_error_set(error, -ENOMEM, "no memory to read the trace");
    }
    for (; pool->metadata_count < directories->count; pool->metadata_count++) {
        const struct gw_trace_directory *directory = &directories->items[pool->metadata_count];
        struct gw_trace_metadata *metadata = &pool->metadata[pool->metadata_count];
        int status = gw_trace_metadata_read(directory, metadata, error);
        if (status) {
            return status;
        }
        if (metadata->realtime_offset_ns) {
            pool->records->realtime_offset_ns = metadata->realtime_offset_ns;
        }
        for (size_t f = 0; f < directory->file_count && !status; f++) {
            status = add_file(pool, directory, metadata, &directory->files[f], part_bytes(pool->total_bytes));
        }
        if (status) {
            return gw_error_set(error, status, "no memory to read the trace");
        }
    }
    pool->order = calloc(pool->task_count + 1, sizeof(*pool->order));
    if (!pool->order) {
        return gw_error_set(error, -ENOMEM, "no memory to read the trace");
    }
    for (size_t i = 0; i < pool->task_count; i++) {
        pool->order[i] = &pool->tasks[i];
    }
    qsort(pool->order, pool->task_count, sizeof(*pool->order), larger_first);
    return 0;
}

/* A cut file is a loss from its last whole packet on, stored in the last stream. */
static int add_file_losses(struct gw_records *records, const struct gw_trace_directories *directories)
{
    for (size_t d = 0; d < directories->count; d++) {
        for (size_t f = 0; f < directories->items[d].file_count; f++) {
            const struct gw_stream_file *file = &directories->items[d].files[f];
            if (file->cut) {
                const struct gw_stream_packet *last =
                    file->packet_count ? &file->packets[file->packet_count - 1] : &(struct gw_stream_packet){0};
                uint64_t end_ns = last->end_ns == UINT64_MAX ? last->begin_ns : last->end_ns;
                int status =
                    gw_record_stream_add_loss(&records->streams[records->stream_count - 1], end_ns, UINT64_MAX, 0);
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
            if (other->packet_count && same_stream(other, file) && other->packets[0].number < file->packets[0].number) {
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
            if (file->packet_count && file->packets[0].number && is_earliest(directories, file) &&
                gw_record_stream_add_let_go(&records->streams[records->stream_count - 1], file->packets[0].begin_ns)) {
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
    gw_scratch_clean(); /* what readers left that were killed */
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
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): gw_error_set returns the code it is given. */
    pool.records->streams = calloc(pool.task_count + 1, sizeof(*pool.records->streams));
    if (!pool.records->streams) {
        status = gw_error_set(error, -ENOMEM, "no memory to read the trace");
        goto end;
    }
    pool.records->trace_count = directories.count;
    pool.records->file_bytes = directories.file_bytes;
    for (size_t i = 0; i < pool.task_count; i++) {
        pool.records->packet_count += pool.tasks[i].range.count;
    }
    pool.records->stream_count = pool.task_count + 1;
    for (size_t i = 0; i < pool.task_count; i++) {
        pool.tasks[i].stream = &pool.records->streams[i];
    }
    status = gw_parallel_for(pool.task_count, run_task, &pool);
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
    for (size_t i = 0; i < pool.metadata_count; i++) {
        gw_trace_metadata_clear(&pool.metadata[i]);
    }
    free(pool.metadata);
    gw_trace_directories_clear(&directories);
    free(pool.tasks);
    free(pool.order);
    pthread_mutex_destroy(&pool.lock);
    return status;
}
