/*
 * The events of packets as records. Packets lie one after the other in a stream file, as trace_files.h found them;
 * their events are read as trace_metadata.h tells, without Babeltrace: it takes 200 ns an event, this 20.
 *
 * Whatever cannot be what was recorded is taken for damage: an event of no class, one that goes on behind the packet's
 * content, a time outside of the packet's. What is left of such a packet is a loss, and the next packet goes on. An event
 * whose numbers cannot be is a loss by itself.
 *
 * Memory: 1 MB, or the longest event.
 */
#ifndef GW_ANALYZER_READ_PACKET_READER_H
#define GW_ANALYZER_READ_PACKET_READER_H

#include "analyzer/read/trace_metadata.h"

/* Packets of a stream file, at least one. */
struct gw_packet_range {
    const struct gw_stream_file *file;
    size_t first, count;
};

/* Divides the packets of a file into ranges of about size_bytes, only where nothing was lost between two packets; into
 * one range when its counters or times are not in order. The caller frees *ret_ranges. Returns 0 or -ENOMEM. */
int gw_packet_ranges_divide(const struct gw_stream_file *file, uint64_t size_bytes, struct gw_packet_range **ret_ranges,
                            size_t *ret_count);

/* Bytes of the range in its file. */
uint64_t gw_packet_range_bytes(const struct gw_packet_range *range);

/* What is found of packets besides their records. */
struct gw_packets_read {
    void (*packet_done)(void *user, uint64_t bytes); /* after each one; NULL: not asked for */
    void *user;
    uint64_t skipped_events; /* of classes this version does not know */
};

/* Appends the events and losses of the range to a stream. class: of the file in directory. Returns 0 or a negative
 * errno with *error filled. */
int gw_packets_read(const char *directory, const struct gw_packet_range *range, const struct gw_stream_class *class,
                    struct gw_record_stream *stream, struct gw_packets_read *read, struct gw_error *error);

#endif
