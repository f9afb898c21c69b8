/* How far reading a run has come, on a terminal. */
#ifndef GW_CLI_PROGRESS_H
#define GW_CLI_PROGRESS_H

#include "analyzer/read/read.h"

struct gw_cli_progress {
    const char *command; /* argv[0] of the verb */
    int shown_percent;
};

/* A progress for gw_model_build that keeps one line of stderr up to date; says nothing where stderr is no terminal.
 * state lives as long as it is used. */
struct gw_read_progress gw_cli_progress_begin(struct gw_cli_progress *state, const char *command);

/* Clears the line. */
void gw_cli_progress_end(const struct gw_cli_progress *state);

#endif
