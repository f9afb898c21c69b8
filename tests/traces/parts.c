/*
 * parts TRACE: reads each stream of a trace directory whole, and packet range by packet range, and compares what was
 * read, event by event, and what was lost. Says how many parts there were; fails when no stream has several.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/packet_view.h"
#include "analyzer/read/stream_graph.h"
#include "analyzer/read/trace_files.h"

/* A place in the records of several streams that follow each other. */
struct cursor {
    const struct gw_record_stream *streams;
    size_t stream_count, stream, block;
    uint32_t at, place;
};

static bool next(struct cursor *cursor, struct gw_record *ret_record)
{
    for (; cursor->stream < cursor->stream_count; cursor->stream++, cursor->block = 0) {
        const struct gw_record_stream *stream = &cursor->streams[cursor->stream];
        for (; cursor->block < stream->block_count; cursor->block++, cursor->at = cursor->place = 0) {
            if (cursor->at < stream->blocks[cursor->block]->count) {
                cursor->place = gw_record_get(stream->blocks[cursor->block], cursor->place, ret_record);
                cursor->at++;
                return true;
            }
        }
    }
    return false;
}

static bool is_same(const struct gw_record *a, const struct gw_record *b)
{
    return a->time_ns == b->time_ns && a->begin_ns == b->begin_ns && a->call == b->call && a->site == b->site &&
           a->result == b->result && a->type == b->type;
}

static bool same_records(const struct gw_record_stream *whole, const struct gw_record_stream *parts, size_t count)
{
    struct cursor a = {.streams = whole, .stream_count = 1}, b = {.streams = parts, .stream_count = count};
    struct gw_record of_whole, of_parts;
    for (size_t n = 0;; n++) {
        const bool first = next(&a, &of_whole), second = next(&b, &of_parts);
        if (!first || !second || !is_same(&of_whole, &of_parts)) {
            if (first || second) {
                printf("event %zu differs\n", n);
            }
            return !first && !second;
        }
    }
}

static bool same_losses(const struct gw_record_stream *whole, const struct gw_record_stream *parts, size_t count)
{
    size_t at = 0;
    for (size_t p = 0; p < count; p++) {
        for (size_t i = 0; i < parts[p].loss_count; i++, at++) {
            const struct gw_record_loss *loss = &parts[p].losses[i];
            if (at >= whole->loss_count || loss->begin_ns != whole->losses[at].begin_ns ||
                loss->end_ns != whole->losses[at].end_ns || loss->count != whole->losses[at].count) {
                printf("loss %zu differs\n", at);
                return false;
            }
        }
    }
    return at == whole->loss_count;
}

static void ignore_packet(void *user)
{
    (void)user;
}

static int read_stream(const char *path, uint64_t port, bool continues, struct gw_record_stream *stream)
{
    struct gw_error error = {""};
    struct gw_stream_graph *graph = NULL;
    uint64_t skipped = 0;
    int64_t offset = 0;
    int status = gw_stream_graph_create(path, port, continues, stream, ignore_packet, NULL, &graph, &error);
    if (!status) {
        status = gw_stream_graph_run(graph, &skipped, &offset, &error);
    }
    gw_stream_graph_destroy(graph);
    if (status) {
        printf("%s: %s\n", path, error.text);
    }
    return status;
}

/* Stores how many parts the file has. False when they do not make up the whole. */
static bool check_file(const struct gw_trace_directory *directory, const struct gw_stream_file *file, uint64_t port,
                       size_t *ret_parts)
{
    struct gw_packet_range *ranges = NULL;
    struct gw_record_stream whole = {0}, *parts = NULL;
    size_t count = 0;
    bool same = read_stream(directory->path, port, false, &whole) == 0 &&
                gw_packet_ranges_divide(file, 1, &ranges, &count) == 0 && (parts = calloc(count, sizeof(*parts)));
    for (size_t i = 0; i < count && same; i++) {
        struct gw_scratch view = {0};
        int status = gw_packet_view_create(directory, &ranges[i], true, &view);
        if (status) {
            printf("%s: no view: %s\n", file->name, strerror(-status));
        }
        same = status == 0 && read_stream(view.path, 0, ranges[i].first > 0, &parts[i]) == 0;
        gw_scratch_remove(&view);
    }
    same = same && same_records(&whole, parts, count) && same_losses(&whole, parts, count);
    printf("%s: %zu packets, %zu parts, %zu losses\n", file->name, file->packet_count, count, whole.loss_count);
    for (size_t i = 0; parts && i < count; i++) {
        gw_record_stream_clear(&parts[i]);
    }
    gw_record_stream_clear(&whole);
    free(parts);
    free(ranges);
    *ret_parts = count;
    return same;
}

static const struct gw_stream_file *file_of(const struct gw_trace_directory *directory,
                                            const struct gw_stream_identity *stream)
{
    for (size_t f = 0; f < directory->file_count; f++) {
        const struct gw_stream_file *file = &directory->files[f];
        if (file->packet_count && file->class_id == stream->class_id && file->instance_id == stream->instance_id) {
            return file;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct gw_trace_directories directories = {0};
    struct gw_error error = {""};
    size_t most = 0;
    bool same = argc == 2 && gw_trace_directories_find(argv[1], &directories, &error) == 0;
    for (size_t d = 0; d < directories.count && same; d++) {
        const struct gw_trace_directory *directory = &directories.items[d];
        struct gw_stream_identity *streams = NULL;
        size_t count = 0;
        same = gw_stream_graph_list(directory->path, &streams, &count, &error) == 0;
        for (size_t p = 0; p < count && same; p++) {
            const struct gw_stream_file *file = file_of(directory, &streams[p]);
            size_t parts = 0;
            same = file && check_file(directory, file, p, &parts);
            most = parts > most ? parts : most;
        }
        free(streams);
    }
    gw_trace_directories_clear(&directories);
    if (error.text[0]) {
        printf("%s\n", error.text);
    }
    return same && most > 1 ? 0 : 1;
}
