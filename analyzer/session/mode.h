/* What kind of recording the session's process is to make; travels on its command line as JSON. */
#ifndef GW_SESSION_MODE_H
#define GW_SESSION_MODE_H

#include <stdbool.h>
#include <stdint.h>

struct gw_session_mode {
    uint64_t subbuffer_bytes;
    bool windows;                     /* only what lies in windows is recorded; they are written into run.json */
    bool paused;                      /* the first window is not opened at once */
    bool steps;                       /* the program says when windows begin and end, and which steps are slow */
    uint64_t rotate_bytes, rotate_ns; /* when a new chunk is begun; 0: not for that reason */
    unsigned keep;                    /* so many chunks are kept beside the current one; 0: all */
    bool ring; /* the buffers hold the last events and are written out only when asked for and at the end */
};

/* The caller frees the result; NULL without memory. */
char *gw_session_mode_json(const struct gw_session_mode *mode);

/* Returns 0 or -EINVAL. */
int gw_session_mode_parse(const char *text, struct gw_session_mode *ret_mode);

#endif
