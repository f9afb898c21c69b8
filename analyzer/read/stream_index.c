#include "analyzer/read/stream_index.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct gw_index_entry gw_index_entry_of(const struct gw_stream_file *file, const struct gw_stream_packet *packet,
                                        uint64_t offset)
{
    return (struct gw_index_entry){.offset = htobe64(offset),
                                   .packet_bits = htobe64((uint64_t)packet->size_bytes * 8),
                                   .content_bits = htobe64((uint64_t)packet->content_bytes * 8),
                                   .begin = htobe64(packet->begin_ns),
                                   .end = htobe64(packet->end_ns),
                                   .discarded = htobe64(packet->discarded),
                                   .class_id = htobe64(file->class_id),
                                   .instance_id = htobe64(file->instance_id),
                                   .number = htobe64(packet->number)};
}

static enum gw_index_state compare(FILE *index, const struct gw_stream_file *file)
{
    struct gw_index_header header;
    struct gw_index_entry entry;
    uint64_t offset = 0;
    if (fread(&header, sizeof(header), 1, index) != 1 || header.magic != htobe32(GW_INDEX_MAGIC) ||
        header.major != htobe32(GW_INDEX_MAJOR) || header.entry_bytes != htobe32(sizeof(entry))) {
        return GW_INDEX_DIFFERS;
    }
    for (size_t i = 0; i < file->packet_count; i++) {
        struct gw_index_entry expected = gw_index_entry_of(file, &file->packets[i], offset);
        if (fread(&entry, sizeof(entry), 1, index) != 1 || memcmp(&entry, &expected, sizeof(entry)) != 0) {
            return GW_INDEX_DIFFERS;
        }
        offset += file->packets[i].size_bytes;
    }
    size_t rest = fread(&entry, 1, sizeof(entry), index);
    if (rest == 0) {
        return GW_INDEX_FITS;
    }
    return rest == sizeof(entry) && entry.offset == htobe64(offset) && entry.packet_bits != 0 ? GW_INDEX_LONGER
                                                                                              : GW_INDEX_DIFFERS;
}

enum gw_index_state gw_index_check(const char *path, const struct gw_stream_file *file)
{
    FILE *index = fopen(path, "rbe");
    if (!index) {
        return errno == ENOENT || errno == ENOTDIR ? GW_INDEX_FITS : GW_INDEX_DIFFERS;
    }
    enum gw_index_state state = compare(index, file);
    fclose(index);
    return state;
}
