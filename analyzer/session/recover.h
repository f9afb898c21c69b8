/* Makes a run readable whose LTTng daemons were killed before they could write its end. */
#ifndef GW_SESSION_RECOVER_H
#define GW_SESSION_RECOVER_H

#include <stdbool.h>

/*
 * Copies the metadata beside the streams and extracts what the consumer had not yet taken from the buffers below
 * `buffers_path` into `trace_path` (as recovered-NAME beside stream NAME), then removes the buffers. The daemons must
 * be gone. `whole`: they ended properly, so the metadata that is there is right. Returns the number of streams
 * extracted, -ENOENT when there are no buffers (any more) or no lttng-crash, or -errno.
 */
int gw_recover_buffers(const char *buffers_path, const char *trace_path, bool whole);

/*
 * Gives the files of the buffers second names, from which they are recovered: the consumer removes the first ones when
 * its session daemon dies, and takes what a flight recorder holds with them. Returns 0 or -errno.
 */
int gw_keep_buffers(const char *buffers_path);

/* True when there are streams below `trace_path` and each has its metadata beside it. */
bool gw_trace_has_metadata(const char *trace_path);

/*
 * For readers: recovers the run in `dir` (a folder with run.json) if its recorder and session were killed, and says so
 * in its run.json. Does nothing when the run is complete or was recovered before. Returns 0; -EBUSY while the recording
 * is still going on; -errno of gw_run_info_read; -ENODATA when the run was broken off and nothing of it can be read.
 */
int gw_run_recover(const char *dir);

#endif
