/*
 * The recordings a run consists of: one, or one for each rank, read from their directories or from summaries
 * (read/summary.h) and made into one order, so that it makes no difference where and by whom each was read.
 *
 * Of several recordings each is held to a number of bytes of records: what goes beyond is left out in whole steps, as
 * if the recording had been stopped after them, and said. All ranks of a job share GW_RANKS_BYTES unless told
 * otherwise, so what a run of many ranks needs is bounded, and the same for everybody who reads it.
 */
#ifndef GW_ANALYZER_MODEL_RECORDINGS_H
#define GW_ANALYZER_MODEL_RECORDINGS_H

#include "analyzer/model/build.h"

#define GW_RANKS_BYTES (8ull << 30) /* of records, over all ranks; the model of them takes about as much again */
#define GW_RANK_BYTES_LEAST (256ull << 10)

struct gw_recordings {
    GW_ARRAY(struct gw_model_input, inputs); /* owned, though constant for the builder */
    char **problems;                         /* why others could not be read; NULL-terminated or NULL */
    size_t listed; /* how many there are in all, those of other readers and unreadable ones too */
};

/* Adds the recordings at path: a directory with run.json, a directory with rank-* directories or summaries in it, or a
 * summary. One of several that cannot be read becomes a problem. progress may be NULL. Returns 0 or a negative errno
 * with *error filled, -EBUSY when one is still being recorded; then the caller releases what was added before. */
int gw_recordings_read(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                       struct gw_error *error);

/* Adds one of several parts that gw_run_paths listed, a directory or a summary. One that cannot be read becomes a
 * problem. Returns 0, or -EBUSY, -ENOMEM with *error filled. */
int gw_recordings_read_part(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                            struct gw_error *error);

/* Adds what a summary in memory holds; name for messages. Returns 0 or a negative errno with *error filled. */
int gw_recordings_decode(struct gw_recordings *recordings, const char *name, const void *data, size_t bytes,
                         struct gw_error *error);

/* Takes a line about a recording that cannot be read. Returns 0 or -ENOMEM. */
int gw_recordings_add_problem(struct gw_recordings *recordings, const char *line);

/* Orders the recordings by rank and name, takes one that was given twice once, orders the problems by their text, and
 * cuts each recording to rank_bytes (0: its share of GW_RANKS_BYTES). Returns 0 or a negative errno with *error filled:
 * -EFBIG when not even the first step of a rank fits. */
int gw_recordings_arrange(struct gw_recordings *recordings, uint64_t rank_bytes, struct gw_error *error);

/* What each of so many ranks may keep. */
uint64_t gw_rank_bytes(size_t ranks);

/* Releases everything; afterwards it is empty. */
void gw_recordings_release(struct gw_recordings *recordings);

/* Builds the model of all recordings, which are released; steps and errors as gw_model_build. */
int gw_model_build_from_recordings(const char *path, struct gw_recordings *recordings,
                                   const struct gw_model_options *options, struct gw_model **ret_model,
                                   struct gw_error *error);

/* ---- coalesce.c ---- */

#define GW_RANKS_APART 64u /* of more ranks, each is one stream */

/* Makes the streams one, in order of time. Returns 0 or a negative errno; then the records are as they were. */
int gw_recording_coalesce(struct gw_records *records);

/* ---- excerpt.c ---- */

/* Cuts records to at most `bytes` behind the end of a step; the run file says so. Both are replaced. Nothing is done
 * to records that fit. Returns 0, -EFBIG when no step fits, or another negative errno, with *error filled. */
int gw_recording_cut(struct gw_run_file **run, struct gw_records **records, uint64_t bytes, struct gw_error *error);

#endif
