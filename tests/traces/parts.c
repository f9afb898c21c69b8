/*
 * parts TRACE: reads each stream of a trace directory whole, and packet range by packet range, and compares what was
 * read, event by event, and what was lost. Says how many parts there were; fails when no stream has several.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/read/packet_reader.h"

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

static bool read_range(const struct gw_trace_directory *directory, const struct gw_packet_range *range,
                       const struct gw_stream_class *class, struct gw_record_stream *stream)
{
    struct gw_error error = {""};
    struct gw_packets_read read = {0};
    int status = gw_packets_read(directory->path, range, class, stream, &read, &error);
    if (status) {
        printf("%s: %s\n", range->file->name, error.text);
    }
    return status == 0;
}

/* Stores how many parts the file has. False when they do not make up the whole. */
static bool check_file(const struct gw_trace_directory *directory, const struct gw_stream_file *file,
                       const struct gw_stream_class *class, size_t *ret_parts)
{
    struct gw_packet_range *ranges = NULL;
    const struct gw_packet_range all = {.file = file, .count = file->packet_count};
    struct gw_record_stream whole = {0}, *parts = NULL;
    size_t count = 0;
    bool same = class && read_range(directory, &all, class, &whole) &&
                gw_packet_ranges_divide(file, 1, &ranges, &count) == 0 && (parts = calloc(count, sizeof(*parts)));
    for (size_t i = 0; i < count && same; i++) {
        same = read_range(directory, &ranges[i], class, &parts[i]);
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

int main(int argc, char **argv)
{
    struct gw_trace_directories directories = {0};
    struct gw_error error = {""};
    size_t most = 0;
    bool same = argc == 2 && gw_trace_directories_find(argv[1], &directories, &error) == 0;
    for (size_t d = 0; d < directories.count && same; d++) {
        const struct gw_trace_directory *directory = &directories.items[d];
        struct gw_trace_metadata metadata = {0};
        same = gw_trace_metadata_read(directory, &metadata, &error) == 0;
        for (size_t f = 0; f < directory->file_count && same; f++) {
            const struct gw_stream_file *file = &directory->files[f];
            size_t parts = 0;
            same = !file->packet_count || check_file(directory, file, gw_trace_metadata_class(&metadata, file), &parts);
            most = parts > most ? parts : most;
        }
        gw_trace_metadata_clear(&metadata);
    }
    gw_trace_directories_clear(&directories);
    if (error.text[0]) {
        printf("%s\n", error.text);
    }
    return same && most > 1 ? 0 : 1;
}
