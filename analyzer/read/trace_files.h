/*
 * The trace directories below a path and the state of their stream files. LTTng-UST packets begin with a fixed header:
 * magic, trace uuid, stream class, stream instance, then begin and end time, content and packet size in bits, number
 * the events discarded so far and the CPU. Walking those finds files that were cut, and where a file can be divided to
 * be read by several threads. What the index lists and the file has not is a cut too.
 *
 * Memory: 40 bytes a packet.
 */
#ifndef GW_ANALYZER_READ_TRACE_FILES_H
#define GW_ANALYZER_READ_TRACE_FILES_H

#include "analyzer/read/read.h"

/* Of the header that each packet begins with. */
#define GW_PACKET_HEADER_BYTES 84u

struct gw_stream_packet {
    uint64_t begin_ns;
    uint64_t end_ns;    /* UINT64_MAX: not known, for the one in which a recorder was killed that comes last */
    uint64_t number;    /* within the stream, from 0 */
    uint64_t discarded; /* events of the stream up to its end; a wrapping counter */
    uint32_t size_bytes, content_bytes;
};

struct gw_stream_file {
    char *name; /* within its directory */
    uint8_t uuid[16];
    uint64_t class_id, instance_id;
    uint64_t size_bytes, whole_bytes; /* whole_bytes: up to the end of the last whole packet */
    bool cut;                         /* it ends within a packet, or before its index does; maybe it is not there */
    struct gw_stream_packet *packets; /* the whole ones */
    size_t packet_count;
};

struct gw_trace_directory {
    char *path;
    struct gw_stream_file *files;
    size_t file_count;
};

struct gw_trace_directories {
    struct gw_trace_directory *items;
    size_t count;
    uint64_t file_bytes; /* of all files below the path */
};

/* Finds every directory with a file `metadata` below path (16 levels deep at most) and checks its stream files. Returns
 * 0 or a negative errno with *error filled. Release with gw_trace_directories_clear. */
int gw_trace_directories_find(const char *path, struct gw_trace_directories *directories, struct gw_error *error);
void gw_trace_directories_clear(struct gw_trace_directories *directories);

/* Writes a stream file with one packet that holds no events. Returns 0 or a negative errno. */
int gw_packet_write_empty(const char *path, const uint8_t uuid[16], uint64_t class_id);

#endif
