/*
 * LTTng's index of a stream file (lttng/lttng-index.h, version 1.1): one entry a packet, all in big-endian order.
 * source.ctf.fs believes an index, and aborts where one leads it past the end of the file.
 */
#ifndef GW_ANALYZER_READ_STREAM_INDEX_H
#define GW_ANALYZER_READ_STREAM_INDEX_H

#include "analyzer/read/trace_files.h"

#define GW_INDEX_MAGIC 0xC1F1DCC1u
#define GW_INDEX_MAJOR 1u
#define GW_INDEX_MINOR 1u
#define GW_INDEX_ENDING ".idx"

struct gw_index_header {
    uint32_t magic, major, minor, entry_bytes;
};

struct gw_index_entry {
    uint64_t offset;
    uint64_t packet_bits, content_bits;
    uint64_t begin, end;
    uint64_t discarded;
    uint64_t class_id, instance_id;
    uint64_t number;
};

/* The entry of a packet of the file at an offset, in the index's byte order. */
struct gw_index_entry gw_index_entry_of(const struct gw_stream_file *file, const struct gw_stream_packet *packet,
                                        uint64_t offset);

enum gw_index_state {
    GW_INDEX_FITS,    /* or there is none */
    GW_INDEX_DIFFERS, /* not to be shown to Babeltrace */
    GW_INDEX_LONGER,  /* it lists packets behind the end of the file: those were lost with a part of the file */
};

/* Compares the index at path with the packets of its file, of which one that is missing has none. */
enum gw_index_state gw_index_check(const char *path, const struct gw_stream_file *file);

#endif
