/*
 * Batches of a program, grouped by the kinds of kernels that they run, and compared. Internal to analyzer/model.
 */
#ifndef GW_ANALYZER_MODEL_BATCH_GROUPS_H
#define GW_ANALYZER_MODEL_BATCH_GROUPS_H

#include "analyzer/model/sequence.h"

#define GW_BATCH_GROUPS_MAX 64u
#define GW_BATCH_SAME_WORK                                                                                             \
    0.8                      /* share of a step's kinds or number of kernels that a micro-step runs beside updates     \
                              */
#define GW_BATCH_REGULAR 0.9 /* share of steps as many batches after the one before */

/* What a batch is. */
enum gw_batch_role {
    GW_BATCH_NONE,
    GW_BATCH_STRANGE, /* another phase of the program */
    GW_BATCH_LESS,    /* runs a part of what steps run: an evaluation */
    GW_BATCH_PART,    /* a micro-step, or a step when none accumulates */
    GW_BATCH_FULL     /* ends a step */
};

/* Batches that run the same kinds of kernels. */
struct gw_batch_group {
    size_t sample; /* one such batch */
    size_t count, events;
    size_t kinds, kernels, updates; /* of the sample; kinds of kernels, kernels, kinds that update parameters */
    double of_full, of_own;         /* share of a full step's work that they do, of their own kinds that are in it */
    enum gw_batch_role role;
};

struct gw_batches {
    const struct gw_sequence *sequence;
    size_t *positions; /* begins of batches, then the end of the sequence */
    uint32_t *of;      /* by batch: its group */
    uint64_t *least;   /* by batch: how many kernels of a kind it has at least */
    size_t count;
    struct gw_batch_group groups[GW_BATCH_GROUPS_MAX];
    size_t group_count;
    uint32_t *seen; /* by token: the number of the range in which it was seen last */
    uint32_t range;
    uint32_t *counts; /* by token, zero between uses */
};

static inline bool gw_is_kernel(const struct gw_sequence_event *event)
{
    return event->traits & GW_TRAIT_KERNEL;
}

static inline enum gw_batch_role gw_batch_role(const struct gw_batches *self, size_t batch)
{
    return self->groups[self->of[batch]].role;
}

/* Lists the batches: each begins where uploads do. Release with gw_batches_clear, also when it failed. Returns 0 or
 * -ENOMEM. */
int gw_batches_create(const struct gw_sequence *sequence, struct gw_batches *self);
void gw_batches_clear(struct gw_batches *self);

/* Puts each batch into the group of those with the same kinds of kernels. Returns 0, -ENOMEM, or -E2BIG when there are
 * too many. */
int gw_batches_group(struct gw_batches *self);

/* The group whose batches are compared with: of those that update parameters the one with most kinds of such kernels,
 * else the one with most kinds of any. NULL when there is none. */
struct gw_batch_group *gw_batches_find_full(struct gw_batches *self);

/* Gives roles by comparison with that group: all that run about as much are parts as yet. */
void gw_batches_give_roles(struct gw_batches *self, const struct gw_batch_group *full);

/* Whether what one group has beyond another comes after nearly all that both have, as an update does. */
bool gw_batches_end_with_own(struct gw_batches *self, const struct gw_batch_group *own,
                             const struct gw_batch_group *other);

/* Whether updates come once, at the end of a batch: else uploads come in the middle of a step, or once for several. The
 * most frequent batches are asked that have any: others may have something behind. */
bool gw_batches_updates_end(const struct gw_batches *self);

/* Whether uploads run ahead, now of one step, now of several: batches have now once, now twice as many kernels of all
 * kinds as others of their group. */
int gw_batches_run_ahead(const struct gw_batches *self, bool *ret_ahead);

/* Whether the batches of other phases are such: not pieces of steps, which come right before them, nor the steps of
 * another model that come in turn with them. */
bool gw_batches_are_phases(const struct gw_batches *self);

/* Whether batches are alike enough to be compared by kinds of kernels: few are of a kind of their own, and steps begin
 * with the same kernel on the same device, or end with the same update. */
bool gw_batches_are_comparable(const struct gw_batches *self, const struct gw_batch_group *full);

#endif
