/* What the session's process does between the begin and the end of a recording: opens and closes windows,
 * writes snapshots, begins new chunks and removes old ones. */
#ifndef GW_KEEPER_CONTROL_H
#define GW_KEEPER_CONTROL_H

#include "analyzer/session/keeper/tracing.h"
#include "analyzer/session/mode.h"

#include <jansson.h>

struct gw_control;

/*
 * Opens the first window or pauses, as the mode says; `run`, `mode` and `tracing` are borrowed. The recording must be
 * on. steps_socket: of gw_steps_listen, -1 without. Returns NULL when that failed.
 */
struct gw_control *gw_control_create(const char *run, const struct gw_session_mode *mode, struct gw_tracing *tracing,
                                     int steps_socket);

/*
 * Does what the messages on `socket` and the program ask for, until one says "end" or the other side is gone; *ret_end
 * is that message, NULL in the second case. The caller owns it.
 */
void gw_control_run(struct gw_control *control, int socket, json_t **ret_end);

/* Closes the window that is open. Call before tracing is stopped. Returns an array of problems, which the caller owns.
 */
json_t *gw_control_finish(struct gw_control *control);

/* NULL is allowed. */
void gw_control_destroy(struct gw_control *control);

#endif
