/*
 * PyTorch/Kineto Chrome traces: JSON text, taken in pieces of any size. Internal to analyzer/model/import.
 *
 * What is taken: CUDA runtime and driver calls, kernels, copies, memsets (tied by correlation), user annotations, names
 * of the process and its threads, distributedInfo, deviceProperties, baseTimeNanoseconds. Operators and flows are not.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_KINETO_H
#define GW_ANALYZER_MODEL_IMPORT_KINETO_H

#include <stddef.h>

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"

struct gw_kineto;

/* A parser for the trace called path in messages. Returns 0 or -ENOMEM. */
int gw_kineto_create(const char *path, struct gw_error *error, struct gw_kineto **ret_kineto);

/* Takes the next size bytes. Returns 0; -EBADMSG for text that is no JSON, -ENOMEM or -EFBIG, with the error filled. */
int gw_kineto_feed(struct gw_kineto *kineto, const void *bytes, size_t size);

/* At the end of the text: gives the model, without steps, to *ret_model. Returns 0; -EBADMSG when the text ends early,
 * -ENODATA when it is no such trace or holds no GPU activity, -ENOMEM, with the error filled. */
int gw_kineto_finish(struct gw_kineto *kineto, struct gw_model **ret_model);

/* NULL is allowed. */
void gw_kineto_destroy(struct gw_kineto *kineto);

#endif
