/*
 * SQLite exports of Nsight Systems (nsys export --type sqlite). Tables read, each of them optional but one of the first
 * five: CUPTI_ACTIVITY_KIND_RUNTIME, _KERNEL, _MEMCPY, _MEMSET, _GRAPH_TRACE; StringIds, NVTX_EVENTS, ThreadNames,
 * PROCESSES, TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE, TARGET_INFO_SESSION_START_TIME. Columns that a version of the
 * export lacks count as unknown. Internal to analyzer/model/import.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_NSYS_H
#define GW_ANALYZER_MODEL_IMPORT_NSYS_H

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

/* Reads the database at path and stores its model, without steps, in *ret_model. Returns 0; -EBADMSG when the database
 * is damaged, -ENODATA when it is no such export or holds no GPU activity, -ENOMEM or -EFBIG; with *error filled. */
int gw_nsys_read(const char *path, struct gw_model **ret_model, struct gw_error *error);

#endif
