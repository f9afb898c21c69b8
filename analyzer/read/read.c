#include "analyzer/read/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/packet_view.h"
#include "analyzer/read/parallel.h"
#include "analyzer/read/stream_graph.h"
#include "analyzer/read/trace_files.h"

/* A part of a file that takes about a tenth of a second to read: smaller ones would not be worth a graph. */
#define PART_LEAST_BYTES (16u << 20)
/* Parts for each thread, so that none has to wait long for the others at the end. */
#define PARTS_A_THREAD 3u

/* A stream, or a range of its packets. */
struct task {
    const struct gw_trace_directory *directory;
    uint64_t port;                /* of the directory; of a view it is the only one */
    struct gw_scratch view;       /* owned; without a path: the whole stream is read from the directory */
    struct gw_packet_range range; /* no file: not known, for it cannot be told from the port */
    uint64_t size_bytes;
    struct gw_record_stream *stream;
};

struct pool {
    pthread_mutex_t lock; /* everything below, and creating and destroying graphs */
    struct task *tasks;
    size_t task_count, task_capacity;
    struct task **order; /* largest first */
    const struct gw_read_progress *progress;
    uint64_t done_bytes, total_bytes;
    struct gw_records *records;
    struct gw_error error; /* the first one */
};

/* What one running graph tells of its packets. */
struct packet_counter {
    struct pool *pool;
    const struct gw_packet_range *range;
    size_t packets;
};

static void packet_done(void *user)
{
    struct packet_counter *counter = user;
    const struct gw_packet_range *range = counter->range;
    struct pool *pool = counter->pool;
    if (counter->packets >= range->count) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->done_bytes += range->file->packets[range->first + counter->packets++].size_bytes;
    if (pool->progress && pool->progress->update) {
        pool->progress->update(pool->progress->user, pool->done_bytes, pool->total_bytes);
    }
    pthread_mutex_unlock(&pool->lock);
}

static int run_task(void *user, size_t index)
{
    struct pool *pool = user;
    struct task *task = pool->order[index];
    struct packet_counter counter = {.pool = pool, .range = &task->range};
    struct gw_stream_graph *graph = NULL;
    struct gw_error error = {""};
    uint64_t skipped = 0;
    int64_t offset = 0;
    pthread_mutex_lock(&pool->lock);
    int status = gw_stream_graph_create(task->view.path ? task->view.path : task->directory->repaired_path, task->port,
                                        task->range.first > 0, task->stream, packet_done, &counter, &graph, &error);
    if (!status) {
        pthread_mutex_unlock(&pool->lock);
        status = gw_stream_graph_run(graph, &skipped, &offset, &error);
        gw_record_stream_close(task->stream);
        pthread_mutex_lock(&pool->lock);
        gw_stream_graph_destroy(graph);
    }
    pool->records->skipped_events += skipped;
    if (offset) {
        pool->records->realtime_offset_ns = offset;
    }
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

/* The file that holds a stream, NULL when none or several do. */
static const struct gw_stream_file *find_file(const struct gw_trace_directory *directory,
                                              const struct gw_stream_identity *identity)
{
    const struct gw_stream_file *found = NULL;
    for (size_t i = 0; i < directory->file_count && identity->known; i++) {
        const struct gw_stream_file *file = &directory->files[i];
        if (!file->packet_count || file->class_id != identity->class_id || file->instance_id != identity->instance_id) {
            continue;
        }
        if (found) {
            return NULL;
        }
        found = file;
    }
    return found;
}

/* Views of a stream's parts; all or none, since a packet must be read once. */
static int add_parts(struct pool *pool, const struct task *whole, const struct gw_packet_range *ranges, size_t count)
{
    size_t before = pool->task_count;
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        struct task part = {
            .directory = whole->directory, .range = ranges[i], .size_bytes = gw_packet_range_bytes(&ranges[i])};
        status = gw_packet_view_create(whole->directory, &ranges[i], i == 0, &part.view);
        if (!status && (status = add_task(pool, &part))) {
            gw_scratch_remove(&part.view);
        }
    }
    while (status && pool->task_count > before) {
        gw_scratch_remove(&pool->tasks[--pool->task_count].view);
    }
    return status;
}

static int add_stream(struct pool *pool, const struct gw_trace_directory *directory, uint64_t port,
                      const struct gw_stream_identity *identity, uint64_t part_bytes)
{
    struct task whole = {.directory = directory, .port = port};
    struct gw_packet_range *ranges = NULL;
    size_t count = 0;
    const struct gw_stream_file *file = find_file(directory, identity);
    if (!file) {
        return add_task(pool, &whole);
    }
    whole.range = (struct gw_packet_range){.file = file, .count = file->packet_count};
    whole.size_bytes = file->whole_bytes;
    int status = gw_packet_ranges_divide(file, part_bytes, &ranges, &count);
    if (!status && count > 1) {
        status = add_parts(pool, &whole, ranges, count);
    }
    if (count <= 1 || (status && status != -ENOMEM)) { /* no room for views, or Babeltrace does not take them */
        status = status == -ENOMEM ? status : add_task(pool, &whole);
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
    for (size_t d = 0; d < directories->count; d++) {
        const struct gw_trace_directory *directory = &directories->items[d];
        struct gw_stream_identity *streams = NULL;
        size_t count = 0;
        int status = gw_stream_graph_list(directory->repaired_path, &streams, &count, error);
        for (size_t p = 0; p < count && !status; p++) {
            status = add_stream(pool, directory, p, &streams[p], part_bytes(pool->total_bytes));
        }
        free(streams);
        if (status) {
            return status == -ENOMEM ? gw_error_set(error, status, "no memory to read the trace") : status;
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
                uint64_t end_ns = file->packet_count ? file->packets[file->packet_count - 1].end_ns : 0;
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
    for (size_t i = 0; i < pool.task_count; i++) {
        gw_scratch_remove(&pool.tasks[i].view);
    }
    gw_trace_directories_clear(&directories);
    free(pool.tasks);
    free(pool.order);
    pthread_mutex_destroy(&pool.lock);
    return status;
}
