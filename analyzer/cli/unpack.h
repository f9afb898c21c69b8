/* Reading a bundle back. */
#ifndef GW_CLI_UNPACK_H
#define GW_CLI_UNPACK_H

#include <stdbool.h>

#include "analyzer/read/error.h"
#include "analyzer/read/scratch.h"

struct gw_unpacked {
    struct gw_scratch folder;
    char *run; /* what of it gw_model_build reads */
};

/* True when path is a regular file named like a bundle. */
bool gw_is_bundle(const char *path);

/*
 * Unpacks the recording in a bundle and checks every member against SHA256SUMS; pictures and reports are checked and
 * not kept. Nothing is written outside the folder, whatever the members are called, and no more than 1 GiB and 200
 * times the bundle's size. *ret_unpacked is released with gw_unpacked_release. Returns 0 or a negative errno with
 * *error filled: -EBADMSG for what is damaged or no bundle, -ENODATA without a recording, or that of the disk.
 */
int gw_unpack(const char *path, struct gw_unpacked *ret_unpacked, struct gw_error *error);

/* Removes the folder. */
void gw_unpacked_release(struct gw_unpacked *unpacked);

#endif
