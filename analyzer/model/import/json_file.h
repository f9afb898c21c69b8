/*
 * Reads the file of a Kineto trace, compressed or not. A large one that is not compressed is parsed in parts side by
 * side, whose begins are guessed and whose results count only where the parser of what stands before arrives there as
 * guessed: model and errors are those of one parser in any case, but that the byte an error is near may be either end
 * of the token there. Internal to analyzer/model/import.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_JSON_FILE_H
#define GW_ANALYZER_MODEL_IMPORT_JSON_FILE_H

#include <stddef.h>

#include "analyzer/model/import/kineto.h"
#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

/* parts: how many at most; 0: as many as this process has CPUs for, of not too small a part each. The caller
 * destroys *ret_kineto, whose text has ended; it writes its later errors into *error. Returns as gw_model_import. */
int gw_json_parse(const char *path, size_t parts, struct gw_kineto **ret_kineto, struct gw_error *error);

/* The same, and the model of the trace. */
int gw_json_read(const char *path, size_t parts, struct gw_model **ret_model, struct gw_error *error);

#endif
