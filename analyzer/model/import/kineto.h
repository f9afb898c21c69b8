/*
 * PyTorch/Kineto Chrome traces: JSON text, taken in pieces of any size. Internal to analyzer/model/import.
 *
 * What is taken: CUDA runtime and driver calls, kernels, copies, memsets (tied by correlation), user annotations, names
 * of the process and its threads, distributedInfo, deviceProperties, baseTimeNanoseconds. Operators and flows are not.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_KINETO_H
#define GW_ANALYZER_MODEL_IMPORT_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/model.h"
#include "analyzer/read/error.h"
#include "analyzer/read/read.h"

struct gw_kineto;

/* A parser for the trace called path in messages. Returns 0 or -ENOMEM. */
int gw_kineto_create(const char *path, struct gw_error *error, struct gw_kineto **ret_kineto);

/* Takes the next size bytes. Returns 0; -EBADMSG for text that is no JSON, -ENOMEM or -EFBIG, with the error filled. */
int gw_kineto_feed(struct gw_kineto *kineto, const void *bytes, size_t size);

/* At the end of the text. Returns 0; -EBADMSG when the text ends early, -ENODATA when it is no such trace or holds no
 * GPU activity, -ENOMEM, with the error filled. */
int gw_kineto_end(struct gw_kineto *kineto);

/* After that: gives the model, without steps, to *ret_model; path: the run's. Returns 0 or -ENOMEM, with the error
 * filled. */
int gw_kineto_build(struct gw_kineto *kineto, const char *path, struct gw_model **ret_model);

/* Traces of several ranks make one model. After the end of both texts: adds what the other holds, as the processes of
 * that rank, on the clock that shift leads to; input: its number, above 0. Returns 0, -ENOMEM or -EFBIG with the
 * other's error filled. */
int gw_kineto_add_rank(struct gw_kineto *kineto, struct gw_kineto *other, uint32_t input,
                       const struct gw_clock_shift *shift);

/* What the trace says of itself: its rank, negative when it has none, and what its times count from, 0 when they count
 * from 1970. */
int32_t gw_kineto_rank(const struct gw_kineto *kineto);
int64_t gw_kineto_base_time_ns(const struct gw_kineto *kineto);

/* Parts of one text can be parsed side by side: each of the later ones from a byte at which an event of the list is
 * guessed to begin. The guess is right exactly when the parser of what stands before, given that byte, says so; then
 * the two are joined and are what one parser of the whole text would be.
 *
 * A parser for the text from byte begin on. in_object: the list stands in the outermost object, else it is that itself.
 * Returns 0 or -ENOMEM. */
int gw_kineto_create_part(const char *path, uint64_t begin, bool in_object, struct gw_error *error,
                          struct gw_kineto **ret_kineto);

/* Feeds the brace with which a later part begins. *ret_meets: an event of such a list began with it. Returns as
 * gw_kineto_feed. */
int gw_kineto_feed_brace(struct gw_kineto *kineto, bool in_object, bool *ret_meets);

/* Gives to `later` what `earlier` found, whose last byte was the brace that `later` began with and met it; `earlier` is
 * then good for gw_kineto_destroy only. Returns 0; -ENOMEM or -EFBIG with the error of `later` filled. */
int gw_kineto_join(struct gw_kineto *earlier, struct gw_kineto *later);

/* From now on errors are written there. */
void gw_kineto_tell(struct gw_kineto *kineto, struct gw_error *error);

/* NULL is allowed. */
void gw_kineto_destroy(struct gw_kineto *kineto);

#endif
