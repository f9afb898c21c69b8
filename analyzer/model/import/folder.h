/*
 * A folder of Kineto traces, one of each rank of a job, as PyTorch's tensorboard_trace_handler writes them: one model,
 * with the ranks' clocks fitted on their collectives as those of recorded hosts are. Internal to analyzer/model/import.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_FOLDER_H
#define GW_ANALYZER_MODEL_IMPORT_FOLDER_H

#include <stdbool.h>

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

/* Whether path is a folder that holds such files (.json, .json.gz) and neither recordings nor summaries. */
bool gw_is_trace_folder(const char *path);

/* Returns as gw_model_import; -EINVAL when two traces are of one rank, or one of none. */
int gw_folder_read(const char *path, struct gw_model **ret_model, struct gw_error *error);

#endif
