/* The recorder's side of gpuwitness-session: begins and ends a recording. */
#ifndef GW_SESSION_SESSION_H
#define GW_SESSION_SESSION_H

#include "analyzer/session/buffers.h"
#include "analyzer/session/mode.h"
#include "analyzer/session/paths.h"

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct gw_session;

struct gw_session_end {
    uint64_t events_discarded, packets_lost, trace_bytes;
    json_t *problems; /* array of strings, one line each; owned by whoever has the struct */
};

/*
 * Makes the private directories of a recording: sockets below $XDG_RUNTIME_DIR or /tmp, buffers in plan->path (which is
 * RUN's parent or a file system of memory). `mode` is copied; its subbuffer_bytes come from the plan. Nothing runs yet.
 * Returns 0 or, with one line in `ret_error`, -errno. The caller owns *ret_session.
 */
int gw_session_create(const struct gw_paths *paths, const char *run, const struct gw_buffer_plan *plan,
                      const struct gw_session_mode *mode, struct gw_session **ret_session, char *ret_error,
                      size_t error_size);

/* Where the buffers lie and what LTTNG_HOME the program needs; borrowed from the session. */
const char *gw_session_buffers_path(const struct gw_session *session);
const char *gw_session_home(const struct gw_session *session);

/* The process to tell apart from the program's own; 0 before gw_session_start. */
pid_t gw_session_pid(const struct gw_session *session);

/*
 * Starts the process that owns the LTTng session. Does not wait. Returns 0 or, with
 * one line in `ret_error`, -errno.
 */
int gw_session_start(struct gw_session *session, char *ret_error, size_t error_size);

/* Waits until events are recorded. Returns 0 or, with one line in `ret_error`, -errno. */
int gw_session_wait_ready(struct gw_session *session, char *ret_error, size_t error_size);

/* Asks for a window to be opened or closed; does not wait. Returns 0, or -errno when the session's process is gone. */
int gw_session_record(struct gw_session *session, bool on);

/* Asks for what the ring holds to be written into RUN/snapshot-N. Like gw_session_record. */
int gw_session_snapshot(struct gw_session *session);

/*
 * Ends the recording: writes `end_fields` and the counts into run.json, everything else to disk. Returns 0, or -EPIPE
 * when the session's process is gone; then the run is left for gw_run_recover.
 */
int gw_session_finish(struct gw_session *session, const json_t *end_fields, struct gw_session_end *ret_end);

/* Takes the session; NULL is allowed. One that was started and not finished ends as after a killed recorder. */
void gw_session_destroy(struct gw_session *session);

#endif
