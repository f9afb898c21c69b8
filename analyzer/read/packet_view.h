/*
 * A stream file shown to source.ctf.fs as a trace of its own that holds only some of its packets, so that several
 * threads can read one file. Nothing is copied: the view is a temporary folder of links and an index in LTTng's format
 * that lists those packets only.
 */
#ifndef GW_ANALYZER_READ_PACKET_VIEW_H
#define GW_ANALYZER_READ_PACKET_VIEW_H

#include "analyzer/read/scratch.h"
#include "analyzer/read/trace_files.h"

/* Packets of a stream file, at least one. */
struct gw_packet_range {
    const struct gw_stream_file *file;
    size_t first, count;
};

/* Makes the view in a folder that the caller removes (gw_scratch_remove). ask: make
 * sure that Babeltrace shows just these packets; what holds for one range of a stream holds for all. Returns 0,
 * -ENOTSUP when it would show others, -ENOMEM or another negative errno when the folder
 * cannot be written. Not to be called while another thread creates or destroys a graph. */
int gw_packet_view_create(const struct gw_trace_directory *directory, const struct gw_packet_range *range, bool ask,
                          struct gw_scratch *ret_view);

/* Divides the packets of a file into ranges of about size_bytes, only where nothing was lost between two packets; into
 * one range when its counters or times are not in order. The caller frees *ret_ranges. Returns 0 or -ENOMEM. */
int gw_packet_ranges_divide(const struct gw_stream_file *file, uint64_t size_bytes, struct gw_packet_range **ret_ranges,
                            size_t *ret_count);

/* Bytes of the range in its file. */
uint64_t gw_packet_range_bytes(const struct gw_packet_range *range);

#endif
