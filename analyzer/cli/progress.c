#include "analyzer/cli/progress.h"

#include <stdio.h>
#include <unistd.h>

static void update(void *user, uint64_t done_bytes, uint64_t total_bytes)
{
    struct gw_cli_progress *state = user;
    int percent = total_bytes ? (int)(100.0 * (double)done_bytes / (double)total_bytes) : 100;
    if (percent == state->shown_percent)
        return;
    state->shown_percent = percent;
    fprintf(stderr, "\r%s: reading the trace: %d %%", state->command, percent);
    fflush(stderr);
}

struct gw_read_progress gw_cli_progress_begin(struct gw_cli_progress *state, const char *command)
{
    *state = (struct gw_cli_progress){.command = command, .shown_percent = -1};
    return (struct gw_read_progress){.update = isatty(STDERR_FILENO) ? update : NULL, .user = state};
}

void gw_cli_progress_end(const struct gw_cli_progress *state)
{
    if (state->shown_percent >= 0)
        fputs("\r\033[K", stderr);
}
