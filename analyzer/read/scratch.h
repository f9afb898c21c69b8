/*
 * Temporary folders of a reader, in TMPDIR. Each is locked while its maker lives, so that what a killed one left can be
 * told from what is in use, in whatever container that is.
 */
#ifndef GW_ANALYZER_READ_SCRATCH_H
#define GW_ANALYZER_READ_SCRATCH_H

#include "analyzer/read/error.h"

struct gw_scratch {
    char *path; /* NULL: none */
    int lock;   /* of the folder, held by this descriptor */
};

/* Makes an empty folder for the user alone. Returns 0, -ENOMEM or the errno of a folder that cannot be made. */
int gw_scratch_create(struct gw_scratch *ret_scratch);

/* Says in *error that what goes into such a folder could not be written; status is why, a negative errno, which
 * it returns. Says nothing of -ENOMEM. */
int gw_scratch_failed(int status, struct gw_error *error);

/* Removes the folder with all that is in it, following no links; one without a path is allowed. */
void gw_scratch_remove(struct gw_scratch *scratch);

/* Removes the user's folders whose maker is gone. */
void gw_scratch_clean(void);

#endif
