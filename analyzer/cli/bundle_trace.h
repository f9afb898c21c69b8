/* The recording in a bundle: without what is private, and cut to size. */
#ifndef GW_CLI_BUNDLE_TRACE_H
#define GW_CLI_BUNDLE_TRACE_H

#include "analyzer/cli/archive.h"
#include "analyzer/export/trace.h"
#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

struct gw_bundle_recording; /* the recorders' files and records */

/* What of the steps goes with the bundle. */
struct gw_bundle_choice {
    bool whole;
    bool too_large;                 /* the smallest part is still larger than asked for */
    uint32_t first_step, last_step; /* unless whole; equal when there are no steps */
    bool has_steps;
    struct gw_trace_cut cut;
};

/* Reads the recording at path again, for a recorded run. Close with gw_bundle_recording_close. Returns 0 or a negative
 * errno with *error filled: -ENOTSUP when a rank of it is a summary (read/summary.h). */
int gw_bundle_recording_open(const char *path, struct gw_bundle_recording **ret_recording, struct gw_error *error);
void gw_bundle_recording_close(struct gw_bundle_recording *recording); /* NULL is allowed */

/* Chooses the steps first…last of the model (all: 0 and UINT32_MAX), or as many in the middle of them as take no more
 * than max_bytes. Returns 0, -ERANGE when there are no such steps, or -ENOMEM. */
int gw_bundle_choose(const struct gw_bundle_recording *recording, const struct gw_model *model, uint32_t first,
                     uint32_t last, uint64_t max_bytes, struct gw_bundle_choice *ret_choice);

/* Adds the recording as GW_BUNDLE_RUN/. Returns 0 or a negative errno, with *error set where it is not the
 * archive that cannot be written. */
int gw_bundle_add_recording(struct gw_archive *archive, const struct gw_bundle_recording *recording,
                            const struct gw_trace_cut *cut, struct gw_redactor *redactor, struct gw_error *error);

#endif
