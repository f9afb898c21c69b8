/*
 * Models of traces that other tools recorded: PyTorch/Kineto Chrome traces (.json, .json.gz) and Nsight Systems SQLite
 * exports (.sqlite), or a folder with a PyTorch trace of each rank. What such a trace lacks (allocation calls it left
 * out, contents of copies, CPU time of threads) stays unknown in the model, and coverage entries say so.
 *
 * Times are the trace's own stamps in nanoseconds, so that evidence can be looked up in the tool that made it;
 * run.realtime_offset_ns leads to CLOCK_REALTIME where the trace tells.
 *
 * Memory while it is built, beyond the model: 110 bytes a call and 180 an operation; the file is streamed.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_IMPORT_H
#define GW_ANALYZER_MODEL_IMPORT_IMPORT_H

#include <stdbool.h>

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

/* True when path is a regular file, or a folder of traces of ranks, which gw_model_import() reads; recorded runs are
 * other directories. */
bool gw_is_import(const char *path);

/* Reads path, a file's format being told by its first bytes, and stores its model, without steps, in *ret_model;
 * the caller destroys it with gw_model_destroy. Returns 0 or a negative errno with *error filled: a file that cannot be
 * opened (its errno), of no known format or without GPU activity (-ENODATA), damaged (-EBADMSG), or no memory
 * (-ENOMEM). */
int gw_model_import(const char *path, struct gw_model **ret_model, struct gw_error *error);

#endif
