/*
 * Summaries: a recording as one small file that travels. What it carries is what the model is built from, run.json and
 * the records, so whatever reads a run reads a summary of it, with the same result.
 *
 * The form is summary.proto's message Recording in a gzip member; a file may hold several, one after the other. It is
 * never larger than the records in memory (records.h) and the texts beside them, and usually a tenth of it.
 */
#ifndef GW_ANALYZER_READ_SUMMARY_H
#define GW_ANALYZER_READ_SUMMARY_H

#include "analyzer/read/read.h"

/* Whether the file begins as a summary does. */
bool gw_is_summary(const char *path);

/* Encodes a recording. The caller frees *ret_data. Returns 0 or -ENOMEM. */
int gw_summary_encode(const struct gw_run_file *run, const struct gw_records *records, void **ret_data,
                      size_t *ret_bytes);

/* Decodes the first recording in data; *ret_used tells how many bytes it took. name is for messages. The caller
 * destroys both. Returns 0 or a negative errno with *error filled: -EBADMSG for damage, -EPROTO for another version. */
int gw_summary_decode(const char *name, const void *data, size_t bytes, size_t *ret_used, struct gw_run_file **ret_run,
                      struct gw_records **ret_records, struct gw_error *error);

#endif
