/*
 * The private folders of a recording: its home, with LTTng's sockets, and its trace buffers. Their recorder removes
 * them; one that was killed with everything that belongs to it cannot, so the next one looks for them.
 */
#ifndef GW_SESSION_LEFTOVER_H
#define GW_SESSION_LEFTOVER_H

#include <limits.h>
#include <stdbool.h>

#define GW_HOME_MAX_BYTES 56 /* socket names have 108 bytes, and LTTng's are up to 50 below its home */

/* Makes a home. Returns 0 or -errno. */
int gw_home_make(char ret_home[GW_HOME_MAX_BYTES]);

/* Notes in it whose it is. Returns 0 or -errno. */
int gw_home_note(const char *home, const char *run, const char *buffers);

/* Marks it as in use for as long as the descriptor is open that is returned; -errno. */
int gw_home_hold(const char *home);

struct gw_leftover {
    char home[PATH_MAX], run[PATH_MAX], buffers[PATH_MAX];
    bool readable; /* a reader of the run takes what is in the buffers, and removes them */
};

/*
 * Removes this user's homes that nobody holds, and their buffers, where nothing is in them that is not in a run
 * already. Calls found, if it is not NULL, for each of the others.
 */
void gw_leftovers_remove(void (*found)(const struct gw_leftover *leftover, void *context), void *context);

#endif
