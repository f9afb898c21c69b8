/*
 * From a recorded run to the model of model.h.
 *
 * Time is near-linear in events: a stream's records, which are nearly in order, are sorted in place and the streams
 * merged; operations are matched through a hash. Peak memory while building: the records, packed (read/records.h), 4
 * bytes a record for sorting, 32 an operation for matching, and the model itself; the records are freed as it grows.
 */
#ifndef GW_ANALYZER_MODEL_BUILD_H
#define GW_ANALYZER_MODEL_BUILD_H

#include "analyzer/model/model.h"
#include "analyzer/read/read.h"

struct gw_model_options {
    struct gw_read_progress progress;
    const char *step_regex; /* a range or kernel whose name matches starts a step; NULL: what the recorder counted them
                               by, else search the sequence of operations */
    uint32_t step_every;    /* with step_regex: only every n-th match starts one; 0 and 1: each */
    double link_gbps;       /* see gw_model.link_gbps */
    bool with_call_ids;     /* fill gw_model.call_ids; those of an imported file are there in any case */
    bool merges_parts;      /* A call of the driver that an outermost call of the runtime consists of (a launch, an
                               event's record, a wait for one) is no call of its own: the other has its arguments
                               and operation. For whoever looks at outermost calls only; takes less memory. */
    uint64_t rank_bytes;    /* records to keep of each of several recordings, see recordings.h; 0: the usual */
};

/* What one recorder left: its run file and its records. Both are only read, but for recordings.h, which gives the
 * records up to the builder. */
struct gw_model_input {
    const struct gw_run_file *run;
    const struct gw_records *records;
};

/* Reads the run at run_path (one recording, a directory with one for each rank, a summary, or a
 * file that import/import.h reads) and stores its model in *ret_model;
 * the caller destroys it with gw_model_destroy. options may be NULL. Returns 0 or a negative errno with *error filled.
 */
int gw_model_build(const char *run_path, const struct gw_model_options *options, struct gw_model **ret_model,
                   struct gw_error *error);

/* The same from records in memory; one input a recorder, at least one. path is what the model calls its run. */
int gw_model_build_from_records(const char *path, const struct gw_model_input *inputs, size_t input_count,
                                const struct gw_model_options *options, struct gw_model **ret_model,
                                struct gw_error *error);

#endif
