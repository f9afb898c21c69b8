/*
 * What the metadata of a trace say of its packets, as far as packets are read from it: event classes and clock. The
 * only code that knows Babeltrace, to which the language of metadata is left; packets are read by ourselves
 * (packet_reader.h).
 *
 * Babeltrace does not tell how an event's header and its alignment are written, so these are looked for in the text.
 */
#ifndef GW_ANALYZER_READ_TRACE_METADATA_H
#define GW_ANALYZER_READ_TRACE_METADATA_H

#include "analyzer/read/event_classes.h"
#include "analyzer/read/scratch.h"
#include "analyzer/read/trace_files.h"

enum gw_event_header {
    GW_HEADER_COMPACT, /* LTTng's: 5 bits of number, 27 of time; or 31, then 4 and 8 bytes */
    GW_HEADER_LARGE,   /* LTTng's: 2 bytes of number, 4 of time; or 65535, then 4 and 8 bytes */
    GW_HEADER_PLAIN,   /* analyzer/export/trace.c's: 1 byte of number, 8 of time */
};

struct gw_stream_class {
    uint64_t id;
    enum gw_event_header header;
    struct gw_event_layout *events; /* by number */
    size_t event_count;
};

struct gw_trace_metadata {
    uint8_t uuid[16];
    int64_t realtime_offset_ns; /* CLOCK_REALTIME − CLOCK_MONOTONIC */
    struct gw_stream_class *classes;
    size_t class_count;
};

/* Reads the metadata of a directory with regard to the classes of its stream files. Returns 0, -ENOMEM or another
 * negative errno with *error filled. Not to be called by several threads at a time. Release with
 * gw_trace_metadata_clear. */
int gw_trace_metadata_read(const struct gw_trace_directory *directory, struct gw_trace_metadata *ret_metadata,
                           struct gw_error *error);
void gw_trace_metadata_clear(struct gw_trace_metadata *metadata);

/* The class of a file's stream; NULL: its packets are none of this trace, or there are none. */
const struct gw_stream_class *gw_trace_metadata_class(const struct gw_trace_metadata *metadata,
                                                      const struct gw_stream_file *file);

#endif
