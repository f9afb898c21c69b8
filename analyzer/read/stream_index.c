#include "analyzer/read/stream_index.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define INDEX_MAGIC 0xC1F1DCC1u
#define INDEX_MAJOR 1u

struct index_header {
    uint32_t magic, major, minor, entry_bytes;
};

struct index_entry {
    uint64_t offset;
    uint64_t packet_bits, content_bits;
    uint64_t begin, end;
    uint64_t discarded;
    uint64_t class_id, instance_id;
    uint64_t number;
};

/* The entry of a packet at an offset of the file, in the index's byte order. */
static struct index_entry entry_of(const struct gw_stream_file *file, const struct gw_stream_packet *packet,
                                   uint64_t offset)
{
    return (struct index_entry){.offset = htobe64(offset),
                                .packet_bits = htobe64((uint64_t)packet->size_bytes * 8),
                                .content_bits = htobe64((uint64_t)packet->content_bytes * 8),
                                .begin = htobe64(packet->begin_ns),
                                .end = htobe64(packet->end_ns),
                                .discarded = htobe64(packet->discarded),
                                .class_id = htobe64(file->class_id),
                                .instance_id = htobe64(file->instance_id),
                                .number = htobe64(packet->number)};
}

static bool lists_more(FILE *index, const struct gw_stream_file *file)
{
    struct index_header header;
    struct index_entry entry;
    uint64_t offset = 0;
    if (fread(&header, sizeof(header), 1, index) != 1 || header.magic != htobe32(INDEX_MAGIC) ||
        header.major != htobe32(INDEX_MAJOR) || header.entry_bytes != htobe32(sizeof(entry))) {
        return false;
    }
    for (size_t i = 0; i < file->packet_count; i++) {
        struct index_entry expected = entry_of(file, &file->packets[i], offset);
        if (fread(&entry, sizeof(entry), 1, index) != 1 || memcmp(&entry, &expected, sizeof(entry)) != 0) {
            return false;
        }
        offset += file->packets[i].size_bytes;
    }
    return fread(&entry, sizeof(entry), 1, index) == 1 && entry.offset == htobe64(offset) && entry.packet_bits != 0;
}

bool gw_index_lists_more(const char *path, const struct gw_stream_file *file)
{
    FILE *index = fopen(path, "rbe");
    bool more = index && lists_more(index, file);
    if (index) {
        fclose(index);
    }
    return more;
}
