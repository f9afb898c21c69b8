#include "analyzer/read/packet_view.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/stream_graph.h"
#include "analyzer/read/stream_index.h"

static int write_index(FILE *out, const struct gw_packet_range *range)
{
    const struct gw_stream_file *file = range->file;
    struct gw_index_header header = {htobe32(GW_INDEX_MAGIC), htobe32(GW_INDEX_MAJOR), htobe32(GW_INDEX_MINOR),
                                     htobe32(sizeof(struct gw_index_entry))};
    uint64_t offset = 0, listed = 0;
    if (fwrite(&header, sizeof(header), 1, out) != 1) {
        return -EIO;
    }
    for (size_t i = 0; i < range->first; i++) {
        offset += file->packets[i].size_bytes;
    }
    for (size_t i = range->first; i < range->first + range->count; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        /* An index is taken only when its packets are as long as the file, so the last one stands for what is left out;
         * its content ends where its own header says. */
        bool last = i + 1 == range->first + range->count;
        struct gw_index_entry entry = gw_index_entry_of(file, packet, offset);
        if (last) {
            entry.packet_bits = htobe64((file->whole_bytes - listed) * 8);
        }
        if (fwrite(&entry, sizeof(entry), 1, out) != 1) {
            return -EIO;
        }
        offset += packet->size_bytes;
        listed += packet->size_bytes;
    }
    return 0;
}

static int link_to(const char *directory, const char *name, const char *view)
{
    char *from = NULL, *to = NULL, *absolute = NULL;
    int status = -ENOMEM;
    if (asprintf(&from, "%s/%s", directory, name) < 0) {
        from = NULL;
    }
    if (asprintf(&to, "%s/%s", view, name) < 0) {
        to = NULL;
    }
    if (from && to) {
        absolute = realpath(from, NULL);
        status = absolute && symlink(absolute, to) == 0 ? 0 : -errno;
    }
    free(from);
    free(to);
    free(absolute);
    return status;
}

static int fill(const char *view, const struct gw_trace_directory *directory, const struct gw_packet_range *range)
{
    char *path = NULL;
    int status = link_to(directory->repaired_path, "metadata", view);
    if (!status) {
        status = link_to(directory->repaired_path, range->file->name, view);
    }
    if (status) {
        return status;
    }
    if (asprintf(&path, "%s/index", view) < 0) {
        return -ENOMEM;
    }
    status = mkdir(path, 0700) == 0 ? 0 : -errno;
    free(path);
    if (status) {
        return status;
    }
    if (asprintf(&path, "%s/index/%s.idx", view, range->file->name) < 0) {
        return -ENOMEM;
    }
    FILE *out = fopen(path, "wbe");
    free(path);
    if (!out) {
        return -errno;
    }
    status = write_index(out, range);
    return fclose(out) != 0 && !status ? -errno : status;
}

int gw_packet_view_create(const struct gw_trace_directory *directory, const struct gw_packet_range *range, bool ask,
                          struct gw_scratch *ret_view)
{
    struct gw_scratch view = {0};
    const struct gw_stream_packet *first = &range->file->packets[range->first];
    int status = gw_scratch_create(&view);
    status = status ? status : fill(view.path, directory, range);
    /* Another version of Babeltrace may fall back to all packets: it is asked, not trusted. */
    if (!status && ask && !gw_stream_graph_spans(view.path, first[range->count - 1].end_ns - first->begin_ns)) {
        status = -ENOTSUP;
    }
    if (status) {
        gw_scratch_remove(&view);
        return status;
    }
    *ret_view = view;
    return 0;
}

static bool in_order(const struct gw_stream_file *file)
{
    for (size_t i = 0; i < file->packet_count; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        if (packet->end_ns < packet->begin_ns ||
            (i && (packet->begin_ns < packet[-1].end_ns || packet->discarded < packet[-1].discarded))) {
            return false;
        }
    }
    return true;
}

int gw_packet_ranges_divide(const struct gw_stream_file *file, uint64_t size_bytes, struct gw_packet_range **ret_ranges,
                            size_t *ret_count)
{
    bool divisible = in_order(file);
    size_t count = 1;
    uint64_t collected = 0;
    struct gw_packet_range *ranges = calloc(file->packet_count + 1, sizeof(*ranges));
    if (!ranges) {
        return -ENOMEM;
    }
    ranges[0].file = file;
    for (size_t i = 0; i < file->packet_count; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        if (divisible && collected >= size_bytes && packet->discarded == packet[-1].discarded &&
            packet->number == packet[-1].number + 1) {
            ranges[count++] = (struct gw_packet_range){.file = file, .first = i};
            collected = 0;
        }
        ranges[count - 1].count++;
        collected += packet->size_bytes;
    }
    *ret_ranges = ranges;
    *ret_count = count;
    return 0;
}

uint64_t gw_packet_range_bytes(const struct gw_packet_range *range)
{
    uint64_t bytes = 0;
    for (size_t i = range->first; i < range->first + range->count; i++) {
        bytes += range->file->packets[i].size_bytes;
    }
    return bytes;
}
