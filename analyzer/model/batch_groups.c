#include "analyzer/model/batch_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/map.h"
#include "analyzer/model/sorted.h"

#define FULL_SHARE 0.03   /* of the batches that run what most of a group has: rarer ones are set-up */
#define SAME_WORK 0.6     /* as GW_BATCH_SAME_WORK where no name tells updates, which count too then */
#define AHEAD 0.1         /* share of the batches of steps that are of none or of several */
#define BEHIND 0.3        /* share of the kernels that both have behind the first that only the step's last one has */
#define RARE 0.05         /* share of batches with kinds of kernels that next to no others have: shapes change them */
#define SAME_HEAD 0.8     /* share of steps' batches with one first kernel: else other threads upload */
#define KNOWN 0.5         /* share of a batch's kinds of kernels that a step runs too: else it is another phase */
#define STRANGE_MOST 0.25 /* of all events, in batches of other phases right before steps: pieces of them */
#define IN_TURN_MIN 4u
#define LATE 0.85 /* of a batch: a step's last update comes no earlier, or uploads begin no step */
#define DENSE 0.4 /* share of updates from the first to the last of a batch: else it holds several steps */

int gw_batches_create(const struct gw_sequence *sequence, struct gw_batches *self)
{
    const struct gw_mark mark = {.kind = GW_MARK_BATCH};
    size_t count = 0;
    for (size_t at = 0; at < sequence->count; at++) {
        count += gw_mark_matches(sequence, &mark, at);
    }
    *self = (struct gw_batches){.sequence = sequence,
                                .positions = malloc((count + 1) * sizeof(*self->positions)),
                                .of = malloc((count + 1) * sizeof(*self->of)),
                                .least = malloc((count + 1) * sizeof(*self->least)),
                                .seen = calloc(sequence->token_count + 1u, sizeof(*self->seen)),
                                .counts = calloc(sequence->token_count + 1u, sizeof(*self->counts))};
    if (!self->positions || !self->of || !self->least || !self->seen || !self->counts) {
        return -ENOMEM;
    }
    for (size_t at = 0; at < sequence->count; at++) {
        if (gw_mark_matches(sequence, &mark, at)) {
            self->positions[self->count++] = at;
        }
    }
    self->positions[self->count] = sequence->count;
    return 0;
}

void gw_batches_clear(struct gw_batches *self)
{
    free(self->positions);
    free(self->of);
    free(self->least);
    free(self->seen);
    free(self->counts);
}

/* Finaliser of SplitMix64, after Steele, Lea and Flood. */
static uint64_t mix(uint64_t value)
{
    value = (value + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* What a batch runs: a group of its own so far, and a hash of the kinds of kernels. Returns how many it has of the
 * rarest. */
static uint32_t describe(struct gw_batches *self, size_t batch, struct gw_batch_group *ret_class, uint64_t *ret_hash)
{
    const struct gw_sequence_event *events = self->sequence->events;
    const size_t first = self->positions[batch], end = self->positions[batch + 1];
    struct gw_batch_group group = {.sample = batch, .count = 1, .events = end - first};
    uint32_t least = 0;
    uint64_t hash = 0;
    for (size_t e = first; e < end; e++) {
        if (gw_is_kernel(&events[e])) {
            group.kernels++;
            if (self->counts[events[e].token]++ == 0) {
                group.kinds++;
                group.updates += (events[e].traits & GW_TRAIT_UPDATE) != 0;
                hash += mix(events[e].token);
            }
        }
    }
    for (size_t e = first; e < end; e++) {
        uint32_t *count = &self->counts[events[e].token];
        least = *count && (!least || *count < least) ? *count : least;
        *count = 0;
    }
    *ret_class = group;
    *ret_hash = hash;
    return least;
}

int gw_batches_group(struct gw_batches *self)
{
    struct gw_map known = {0};
    int status = 0;
    for (size_t b = 0; b < self->count && !status; b++) {
        struct gw_batch_group group;
        uint64_t hash;
        self->least[b] = describe(self, b, &group, &hash);
        const uint32_t *same = gw_map_find(&known, hash, group.kinds);
        if (same) {
            self->of[b] = *same;
            self->groups[*same].count++;
            self->groups[*same].events += group.events;
        } else if (self->group_count == GW_BATCH_GROUPS_MAX) {
            status = -E2BIG;
        } else {
            self->of[b] = (uint32_t)self->group_count;
            status = gw_map_insert(&known, hash, group.kinds, self->of[b]);
            self->groups[self->group_count++] = group;
        }
    }
    gw_map_clear(&known);
    return status;
}

/* What one group has in common with a larger one, of kernels that do not update parameters. */
struct shared {
    double of_own;   /* share of its own kinds that the larger one has */
    double of_other; /* share of the larger one's kinds that it has, or of its kernels if that is more */
};

static struct shared compare(struct gw_batches *self, const struct gw_batch_group *own,
                             const struct gw_batch_group *other)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t own_kinds = 0, own_known = 0, other_kinds = 0, other_known = 0, other_kernels = 0, own_kernels = 0;
    const uint32_t in_other = ++self->range, in_both = ++self->range, in_own = ++self->range;
    for (size_t e = self->positions[other->sample]; e < self->positions[other->sample + 1]; e++) {
        if (gw_is_kernel(&events[e]) && !(events[e].traits & GW_TRAIT_UPDATE)) {
            other_kinds += self->seen[events[e].token] != in_other;
            self->seen[events[e].token] = in_other;
            other_kernels++;
        }
    }
    for (size_t e = self->positions[own->sample]; e < self->positions[own->sample + 1]; e++) {
        uint32_t *seen = &self->seen[events[e].token];
        if (gw_is_kernel(&events[e]) && !(events[e].traits & GW_TRAIT_UPDATE)) {
            own_kernels += *seen == in_other || *seen == in_both;
            own_kinds += *seen != in_both && *seen != in_own;
            own_known += *seen == in_other;
            *seen = *seen == in_other || *seen == in_both ? in_both : in_own;
        }
    }
    other_known = own_known;
    return (struct shared){
        .of_own = own_kinds ? (double)own_known / (double)own_kinds : 0,
        .of_other = fmax(other_kinds ? (double)other_known / (double)other_kinds : 0,
                         other_kernels ? fmin(1, (double)own_kernels / (double)other_kernels) : 0),
    };
}

struct gw_batch_group *gw_batches_find_full(struct gw_batches *self)
{
    struct gw_batch_group *full = NULL;
    for (size_t c = 0; c < self->group_count; c++) {
        struct gw_batch_group *group = &self->groups[c];
        const bool frequent = group->count >= 2 && (double)group->events >= FULL_SHARE * (double)self->sequence->count;
        if (frequent &&
            (!full || group->updates > full->updates ||
             (group->updates == full->updates && group->kinds > full->kinds) ||
             (group->updates == full->updates && group->kinds == full->kinds && group->count > full->count))) {
            full = group;
        }
    }
    return full;
}

void gw_batches_give_roles(struct gw_batches *self, const struct gw_batch_group *full)
{
    const double least = full->updates ? GW_BATCH_SAME_WORK : SAME_WORK;
    for (size_t c = 0; c < self->group_count; c++) {
        struct gw_batch_group *group = &self->groups[c];
        const struct shared shared = compare(self, group, full);
        group->of_full = shared.of_other;
        group->of_own = shared.of_own;
        if (group == full || (group->updates && full->updates)) {
            group->role = GW_BATCH_PART;
        } else if (shared.of_own < KNOWN) {
            group->role = GW_BATCH_STRANGE;
        } else {
            group->role = shared.of_other >= least ? GW_BATCH_PART : GW_BATCH_LESS;
        }
    }
}

bool gw_batches_end_with_own(struct gw_batches *self, const struct gw_batch_group *own,
                             const struct gw_batch_group *other)
{
    const struct gw_sequence_event *events = self->sequence->events;
    const uint32_t in_other = ++self->range;
    bool has_own = false;
    size_t shared = 0, behind = 0;
    for (size_t e = self->positions[other->sample]; e < self->positions[other->sample + 1]; e++) {
        self->seen[events[e].token] = in_other;
    }
    for (size_t e = self->positions[own->sample]; e < self->positions[own->sample + 1]; e++) {
        if (gw_is_kernel(&events[e])) {
            const bool is_own = self->seen[events[e].token] != in_other;
            has_own = has_own || is_own;
            shared += !is_own;
            behind += !is_own && has_own;
        }
    }
    return has_own && (double)behind <= BEHIND * (double)shared;
}

bool gw_batches_updates_end(const struct gw_batches *self)
{
    const struct gw_batch_group *full = NULL;
    for (size_t c = 0; c < self->group_count; c++) {
        const struct gw_batch_group *group = &self->groups[c];
        full = group->updates && (!full || group->count > full->count) ? group : full;
    }
    size_t kernels = 0, last = 0, first = SIZE_MAX, updates = 0;
    for (size_t e = self->positions[full->sample]; e < self->positions[full->sample + 1]; e++) {
        kernels += gw_is_kernel(&self->sequence->events[e]);
        if (self->sequence->events[e].traits & GW_TRAIT_UPDATE) {
            last = kernels;
            first = first == SIZE_MAX ? kernels : first;
            updates++;
        }
    }
    return (double)last >= LATE * (double)kernels && (double)updates >= DENSE * (double)(last - first + 1);
}

int gw_batches_run_ahead(const struct gw_batches *self, bool *ret_ahead)
{
    uint64_t *least = malloc((self->count + 1) * sizeof(*least));
    size_t count = 0, many = 0;
    if (!least) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < self->group_count; c++) {
        size_t of_group = 0;
        for (size_t b = 0; b < self->count && self->groups[c].role >= GW_BATCH_PART; b++) {
            if (self->of[b] == c) {
                least[of_group++] = self->least[b];
            }
        }
        const uint64_t usual = gw_upper_median_u64(least, of_group);
        for (size_t i = 0; i < of_group; i++) {
            many += least[i] >= 2 * usual || 2 * least[i] <= usual;
        }
        count += of_group;
    }
    free(least);
    *ret_ahead = (double)many > AHEAD * (double)count;
    return 0;
}

bool gw_batches_are_phases(const struct gw_batches *self)
{
    size_t strange = 0, before = 0, full = 0, events = 0, since = 0, usual = 0, times = 0, in_turn = 0;
    for (size_t b = 0; b < self->count; b++) {
        const bool is_strange = gw_batch_role(self, b) == GW_BATCH_STRANGE,
                   is_step = gw_batch_role(self, b) >= GW_BATCH_PART;
        strange += is_strange ? self->positions[b + 1] - self->positions[b] : 0;
        events += self->positions[b + 1] - self->positions[b];
        full += is_step;
        before += is_step && b && gw_batch_role(self, b - 1) == GW_BATCH_STRANGE;
        if (is_strange && since) {
            times++;
            in_turn += since == usual;
            usual = since;
            since = 0;
        }
        since += is_step;
    }
    const bool takes_turns = times > IN_TURN_MIN && (double)in_turn >= GW_BATCH_REGULAR * (double)(times - 1);
    return !takes_turns && ((double)strange <= STRANGE_MOST * (double)events || 2 * before < full);
}

/* The first kernel of a batch, or its last; NULL without any. */
static const struct gw_sequence_event *end_kernel(const struct gw_batches *self, size_t batch, bool last)
{
    const struct gw_sequence_event *found = NULL;
    for (size_t e = self->positions[batch]; e < self->positions[batch + 1] && (last || !found); e++) {
        found = gw_is_kernel(&self->sequence->events[e]) ? &self->sequence->events[e] : found;
    }
    return found;
}

static bool is_same_kernel(const struct gw_sequence_event *left, const struct gw_sequence_event *right)
{
    return left && right && left->token == right->token && left->device == right->device;
}

bool gw_batches_are_comparable(const struct gw_batches *self, const struct gw_batch_group *full)
{
    const struct gw_sequence_event *head = end_kernel(self, full->sample, false),
                                   *tail = end_kernel(self, full->sample, true);
    size_t rare = 0, same_head = 0, same_tail = 0, steps = 0;
    for (size_t b = 0; b < self->count; b++) {
        rare += self->groups[self->of[b]].count < 3;
        if (gw_batch_role(self, b) >= GW_BATCH_PART) {
            same_head += is_same_kernel(end_kernel(self, b, false), head);
            same_tail += full->updates && is_same_kernel(end_kernel(self, b, true), tail);
            steps++;
        }
    }
    const size_t same = same_head > same_tail ? same_head : same_tail;
    return (double)rare <= 2 + RARE * (double)self->count && (double)same >= SAME_HEAD * (double)steps;
}
