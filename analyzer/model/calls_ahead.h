/*
 * The merged calls, unpacked ahead by a thread of its own while the builder makes use of those before them: both take
 * about as long. With a single CPU, by the builder itself.
 *
 * Memory: 0.5 MB.
 */
#ifndef GW_ANALYZER_MODEL_CALLS_AHEAD_H
#define GW_ANALYZER_MODEL_CALLS_AHEAD_H

#include "analyzer/model/sources.h"

struct gw_calls_ahead;

/* Begins with the first call of the builder's sources, whose list of blocks and sources must stay as it is. Returns 0
 * or -ENOMEM. */
int gw_calls_ahead_create(const struct gw_builder *builder, struct gw_calls_ahead **ret_ahead);

/* The next call, valid until the next one is asked for, and its reference; NULL after the last. */
const struct gw_record *gw_calls_ahead_next(struct gw_calls_ahead *ahead, uint32_t *ret_reference);

/* NULL is allowed; calls may be left. */
void gw_calls_ahead_destroy(struct gw_calls_ahead *ahead);

#endif
