/*
 * The trace directories below a path and the state of their stream files. LTTng-UST packets begin with a fixed header:
 * magic, trace uuid, stream class, stream instance, then begin and end time, content and packet size in bits, number
 * and the events discarded so far. Walking those finds files that were cut, which source.ctf.fs would refuse together
 * with the whole trace, and where a file can be cut to be read by several threads. What the index lists and the file
 * has not is a cut too.
 *
 * Memory: 40 bytes a packet.
 */
#ifndef GW_ANALYZER_READ_TRACE_FILES_H
#define GW_ANALYZER_READ_TRACE_FILES_H

#include "analyzer/read/read.h"
#include "analyzer/read/scratch.h"

struct gw_stream_packet {
    uint64_t begin_ns, end_ns;
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
    bool misleading_index;            /* its index is not of its packets */
    struct gw_stream_packet *packets; /* the whole ones */
    size_t packet_count;
};

struct gw_trace_directory {
    char *path;
    char *repaired_path;    /* where to read it from: path, or a temporary copy without the broken tails … */
    struct gw_scratch copy; /* … in this folder */
    struct gw_stream_file *files;
    size_t file_count;
};

struct gw_trace_directories {
    struct gw_trace_directory *items;
    size_t count;
};

/* Finds every directory with a file `metadata` below path (16 levels deep at most) and checks its stream files. Returns
 * 0 or a negative errno with *error filled. Release with gw_trace_directories_clear, which removes temporary copies. */
int gw_trace_directories_find(const char *path, struct gw_trace_directories *directories, struct gw_error *error);
void gw_trace_directories_clear(struct gw_trace_directories *directories);

#endif
