/* One Babeltrace graph that reads one stream (one output port of source.ctf.fs) of one trace directory. */
#ifndef GW_ANALYZER_READ_STREAM_GRAPH_H
#define GW_ANALYZER_READ_STREAM_GRAPH_H

#include "analyzer/read/read.h"

struct gw_stream_graph;

/* How many streams with content the trace directory has. Returns 0, or -EBADMSG with *error filled when its metadata
 * cannot be parsed. Not to be called while another thread creates or destroys a graph; nor are the next two. */
int gw_stream_graph_count(const char *trace_path, uint64_t *ret_count, struct gw_error *error);

/* Creates the graph for the port'th stream; records go to *stream. packet_done(user) is called after each packet.
 * Destroy with gw_stream_graph_destroy. */
int gw_stream_graph_create(const char *trace_path, uint64_t port, struct gw_record_stream *stream,
                           void (*packet_done)(void *user), void *user, struct gw_stream_graph **ret_graph,
                           struct gw_error *error);
void gw_stream_graph_destroy(struct gw_stream_graph *graph);

/* Identity of the stream the graph reads: the numbers in the packets' headers, for finding its file. False when the
 * port does not tell. */
bool gw_stream_graph_identity(const struct gw_stream_graph *graph, uint64_t *ret_class_id, uint64_t *ret_instance_id);

/* Reads the stream to its end; may run while other graphs run. Damage met on the way ends the reading and is stored as
 * a loss, not an error. Returns 0, -ENOMEM, -EFBIG or -EPROTO with *error filled. */
int gw_stream_graph_run(struct gw_stream_graph *graph, uint64_t *ret_skipped_events, int64_t *ret_realtime_offset_ns,
                        struct gw_error *error);

#endif
