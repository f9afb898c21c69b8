/*
 * Writes the records of a recording as a trace again, without what is private and cut to a range of time: CTF 1.8 as
 * analyzer/read/ and Babeltrace read it, https://diamon.org/ctf/v1.8.3/.
 */
#ifndef GW_ANALYZER_EXPORT_TRACE_H
#define GW_ANALYZER_EXPORT_TRACE_H

#include <jansson.h>

#include "analyzer/export/redact.h"
#include "analyzer/read/records.h"

/* What is kept: calls that overlap [begin_ns, end_ns], what they enqueued, and all that is about processes, threads,
 * devices, streams, kernels and communicators. The whole trace: 0 and UINT64_MAX. */
struct gw_trace_cut {
    uint64_t begin_ns, end_ns;
};

/* True when nothing is cut. */
bool gw_trace_cut_is_whole(const struct gw_trace_cut *cut);

/* Bytes of the trace that gw_trace_write makes, with nothing redacted. Returns 0 or -ENOMEM. */
int gw_trace_size(const struct gw_records *records, const struct gw_trace_cut *cut, uint64_t *ret_bytes);

/* Writes the files of the trace into the folder, which is there and empty; memory: a packet, and 24 bytes a call where
 * something is cut. *ret_discarded_events is how many events are missing in what is kept. Returns 0, -ENOMEM or the
 * errno of writing. */
int gw_trace_write(const struct gw_records *records, const struct gw_trace_cut *cut, struct gw_redactor *redactor,
                   const char *folder, uint64_t *ret_discarded_events);

/* run.json as it goes with such a trace: of the recorder's, what tells of the recording and not of the machine.
 * discarded_events as from gw_trace_write. The caller owns *ret_run. Returns 0 or -ENOMEM. */
int gw_trace_run_json(const json_t *run, const struct gw_trace_cut *cut, struct gw_redactor *redactor,
                      uint64_t discarded_events, json_t **ret_run);

#endif
