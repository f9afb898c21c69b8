/* One Babeltrace graph that reads one stream (one output port of source.ctf.fs) of one trace directory. */
#ifndef GW_ANALYZER_READ_STREAM_GRAPH_H
#define GW_ANALYZER_READ_STREAM_GRAPH_H

#include "analyzer/read/read.h"

struct gw_stream_graph;

/* Which stream an output port is of: the numbers in its packets' headers. */
struct gw_stream_identity {
    uint64_t class_id, instance_id;
    bool known; /* false: the port does not tell */
};

/* The streams with content of the trace directory, one for each output port; the caller frees *ret_streams. Returns 0,
 * -ENOMEM, or -EBADMSG with *error filled when its metadata cannot be parsed. Not to be called while another thread
 * creates or destroys a graph; nor are the next three. */
int gw_stream_graph_list(const char *trace_path, struct gw_stream_identity **ret_streams, size_t *ret_count,
                         struct gw_error *error);

/* Asks whether the trace directory shows one stream of exactly that many nanoseconds, from the begin of its first
 * packet to the end of its last. */
bool gw_stream_graph_spans(const char *trace_path, uint64_t length_ns);

/* Creates the graph for the port'th stream; records go to *stream. continues: the stream's earlier packets are read by
 * another graph, so that what was discarded before its first packet is not news. packet_done(user) is called after
 * each packet. Destroy with gw_stream_graph_destroy. */
int gw_stream_graph_create(const char *trace_path, uint64_t port, bool continues, struct gw_record_stream *stream,
                           void (*packet_done)(void *user), void *user, struct gw_stream_graph **ret_graph,
                           struct gw_error *error);
void gw_stream_graph_destroy(struct gw_stream_graph *graph);

/* Reads the stream to its end; may run while other graphs run. Damage met on the way ends the reading and is stored as
 * a loss, not an error. Returns 0, -ENOMEM, -EFBIG or -EPROTO with *error filled. */
int gw_stream_graph_run(struct gw_stream_graph *graph, uint64_t *ret_skipped_events, int64_t *ret_realtime_offset_ns,
                        struct gw_error *error);

#endif
