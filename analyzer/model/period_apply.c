#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sequence.h"

#define SAMPLES 16u
#define AS_TYPICAL 0.98   /* of the similarity of the unit most like the others */
#define LIKE_TYPICAL 0.75 /* similarity to the typical unit of a step, … */
#define LIKE_BEFORE 0.75  /* … or to the step before it: shapes drift */
#define SAME_KINDS 0.9    /* … or of the kinds of operations it has: sequences of any length run the same ones */
#define LIKE_CUT 0.75     /* of a unit that is cut at the typical length */
#define CONTAINED 0.95    /* share of the typical unit that a longer one contains: a step with something inside it */
#define CONTAINED_MAX 4.0 /* times the typical length */
#define LACKING 0.6       /* share of the typical unit's kinds that an evaluation has at most */
#define LONG 1.3          /* times the typical length: something follows the step inside its unit */

#define HEADS_MOST 8  /* steps before the first one that the mark shows, … */
#define LIKE_HEAD 0.9 /* … and their similarity, from the second on */

struct applying {
    const struct gw_sequence *sequence;
    size_t *positions; /* begins of units, then the end of the sequence */
    size_t count;      /* of units */
    size_t typical;    /* unit most like the others */
    bool updates;      /* only units that update parameters are steps */
    bool varies;       /* units have now more, now fewer micro-steps: a long one is none with something else in it */
    uint32_t *counts;
    struct gw_step_range *ranges;
    size_t range_count;
};

static double unit_similarity(struct applying *self, size_t a, size_t b)
{
    return gw_similarity(self->sequence, self->counts, self->positions[a], self->positions[a + 1], self->positions[b],
                         self->positions[b + 1]);
}

/* How many kinds of operations the unit has that are not in `counts`, and, in *ret_known, that are. */
static size_t count_kinds(struct applying *self, size_t unit, size_t *ret_known)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t unknown = 0, known = 0;
    for (size_t e = self->positions[unit]; e < self->positions[unit + 1]; e++) {
        uint32_t *count = &self->counts[events[e].token];
        known += *count == 1;
        unknown += *count == 0;
        *count |= 2u;
    }
    for (size_t e = self->positions[unit]; e < self->positions[unit + 1]; e++) {
        self->counts[events[e].token] &= 1u;
    }
    *ret_known = known;
    return unknown;
}

/* The share of kinds that a unit has in common with the typical one, as gw_similarity has it of operations. */
static double kinds_similarity(struct applying *self, size_t unit)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t from = self->positions[self->typical], to = self->positions[self->typical + 1], kinds = 0, shared = 0;
    for (size_t e = from; e < to; e++) {
        kinds += self->counts[events[e].token] == 0;
        self->counts[events[e].token] = 1;
    }
    size_t others = count_kinds(self, unit, &shared);
    for (size_t e = from; e < to; e++) {
        self->counts[events[e].token] = 0;
    }
    return 2.0 * (double)shared / (double)(kinds + shared + others);
}

/* End of a unit without the waits that it ends with: the program waits in other ways when it is done. */
static size_t end_of_operations(const struct applying *self, size_t unit)
{
    size_t end = self->positions[unit + 1];
    while (end > self->positions[unit] + 1 && self->sequence->events[end - 1].op == GW_NONE) {
        end--;
    }
    return end;
}

static double last_similarity(struct applying *self, size_t unit)
{
    return gw_similarity(self->sequence, self->counts, self->positions[self->typical],
                         end_of_operations(self, self->typical), self->positions[unit], end_of_operations(self, unit));
}

/* Whether the events can be a step as far as updates of parameters go. */
static bool may_be_step(const struct applying *self, size_t first, size_t end)
{
    bool updates = !self->updates;
    for (size_t e = first; e < end && !updates; e++) {
        updates = self->sequence->events[e].traits & GW_TRAIT_UPDATE;
    }
    return updates;
}

/* The last unit may be cut by the end of the run, so it is not asked. */
static void find_typical(struct applying *self, size_t from)
{
    size_t asked = self->count > 1 ? self->count - 1 : 1, first = 0;
    double best = -1, sums[SAMPLES + 1];
    while (first + 1 < asked && self->positions[first] < from) {
        first++;
    }
    size_t step = (asked - first) / SAMPLES + 1, count = 0;
    for (size_t a = first; a < asked; a += step) {
        sums[count] = may_be_step(self, self->positions[a], self->positions[a + 1]) ? 0 : -1e9;
        for (size_t b = first; b < asked; b += step) {
            sums[count] += a == b ? 0 : unit_similarity(self, a, b);
        }
        best = sums[count] > best ? sums[count] : best;
        count++;
    }
    /* Of those as good as the best the shortest: others may have something inside them. */
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t unit = first + i * step, length = self->positions[unit + 1] - self->positions[unit];
        if (sums[i] >= AS_TYPICAL * best && length < shortest) {
            shortest = length;
            self->typical = unit;
        }
    }
}

/* Where the last unit of the run ends: with the waits the typical one ends with. Others are not the step's. */
static size_t end_of_last(const struct applying *self, size_t unit)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t usual = end_of_operations(self, self->typical), end = end_of_operations(self, unit);
    while (usual < self->positions[self->typical + 1] && end < self->positions[unit + 1] &&
           events[usual].token == events[end].token) {
        usual++;
        end++;
    }
    return end;
}

/* Where a step begins that ends at `end`, beginning as the typical one does: the begin from `least` on that makes it
 * most like it, GW_NO_EVENT when none does. *ret_similarity: that of gw_similarity, kept up while the begin moves back.
 */
static size_t step_before(struct applying *self, size_t end, size_t least, double *ret_similarity)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t typical = self->positions[self->typical], typical_end = self->positions[self->typical + 1];
    size_t typical_count = typical_end - typical, reach = (size_t)(LONG * (double)typical_count), shared = 0;
    size_t best_at = GW_NO_EVENT, at = end;
    double best = LIKE_CUT;
    for (size_t e = typical; e < typical_end; e++) {
        self->counts[events[e].token]++;
    }
    while (at > least && end - at < reach) {
        uint32_t *count = &self->counts[events[--at].token];
        shared += *count > 0;
        *count -= *count > 0;
        double similarity = 2.0 * (double)shared / (double)(end - at + typical_count);
        if (similarity > best && events[at].token == events[typical].token &&
            (double)(end - at) * LONG >= (double)typical_count) {
            best = similarity;
            best_at = at;
        }
    }
    for (size_t e = typical; e < typical_end; e++) {
        self->counts[events[e].token] = 0;
    }
    *ret_similarity = best;
    return best_at;
}

/* Where the typical unit's update begins, or its last micro-step to upload, as far as can be told: the kinds of
 * operations before it are those of every micro-step. The end of the unit when it cannot. */
static size_t end_of_micro_steps(const struct applying *self)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t from = self->positions[self->typical], to = self->positions[self->typical + 1], kernels = 0, last = from;
    for (size_t e = from; e < to && self->updates; e++) {
        if (events[e].traits & GW_TRAIT_UPDATE) {
            return e;
        }
    }
    for (size_t e = from; e < to && self->varies; e++) {
        last = events[e].traits & GW_TRAIT_UPLOAD ? e : last;
    }
    for (size_t e = from; e < last; e++) {
        kernels += events[e].traits & GW_TRAIT_KERNEL;
    }
    return kernels ? last : to;
}

/* Whether a range before a step is something else than a part of it: it has kernels that the typical unit has not, or
 * lacks many of the kinds that this one has, or its micro-steps, as an evaluation does the backward pass. */
static bool is_other(struct applying *self, size_t first, size_t end)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t from = self->positions[self->typical], to = self->positions[self->typical + 1], kinds = 0, shared = 0;
    size_t asked = end_of_micro_steps(self);
    bool others = false;
    for (size_t e = from; e < to; e++) {
        kinds += self->counts[events[e].token] == 0 && e < asked;
        self->counts[events[e].token] |= e < asked ? 1u : 4u;
    }
    for (size_t e = first; e < end; e++) {
        uint32_t *count = &self->counts[events[e].token];
        others |= events[e].traits & GW_TRAIT_KERNEL && !*count;
        shared += (*count & 3u) == 1;
        *count |= *count ? 2u : 0;
    }
    for (size_t e = from; e < to; e++) {
        self->counts[events[e].token] = 0;
    }
    return others || (double)shared <= LACKING * (double)kinds;
}

static void take_unit(struct applying *self, size_t unit)
{
    size_t first = self->positions[unit], end = self->positions[unit + 1];
    size_t typical_count = self->positions[self->typical + 1] - self->positions[self->typical];
    bool is_last = unit + 1 == self->count;
    double similarity = is_last ? last_similarity(self, unit) : unit_similarity(self, self->typical, unit);
    if (!may_be_step(self, first, end)) {
        return;
    }
    if ((double)(end - first) > LONG * (double)typical_count && (self->updates || !self->varies) &&
        may_be_step(self, first, first + typical_count)) {
        size_t cut = first + typical_count;
        double of_cut = gw_similarity(self->sequence, self->counts, self->positions[self->typical],
                                      self->positions[self->typical + 1], first, cut);
        if (of_cut >= LIKE_CUT && of_cut > similarity) {
            self->ranges[self->range_count++] =
                (struct gw_step_range){.first = first, .count = typical_count, .open = true};
            return;
        }
    }
    if (end - first > typical_count && !is_last) {
        /* An evaluation begins as a step does; a short one has kernels of its own. */
        double of_tail = 0;
        size_t tail = step_before(self, end, first, &of_tail);
        bool is_long = (double)(end - first) > LONG * (double)typical_count && !self->varies && !self->updates;
        if (tail != GW_NO_EVENT && of_tail > similarity && tail > first && (is_long || is_other(self, first, tail))) {
            self->ranges[self->range_count++] = (struct gw_step_range){.first = tail, .count = end - tail};
            return;
        }
    }
    bool like_before = false;
    if (self->range_count) {
        const struct gw_step_range *before = &self->ranges[self->range_count - 1];
        like_before = before->first + before->count == first &&
                      gw_similarity(self->sequence, self->counts, before->first, first, first, end) >= LIKE_BEFORE;
    }
    double both = (double)(end - first + typical_count);
    bool contains = !is_last && similarity * both / 2 >= CONTAINED * (double)typical_count &&
                    (double)(end - first) <= CONTAINED_MAX * (double)typical_count;
    if (is_last) {
        end = end_of_last(self, unit);
    }
    if (similarity >= (is_last ? LIKE_CUT : LIKE_TYPICAL) || like_before || contains ||
        kinds_similarity(self, unit) >= SAME_KINDS) {
        self->ranges[self->range_count++] =
            (struct gw_step_range){.first = first, .count = end - first, .open = is_last};
    }
}

/* Steps right before the first one that was found, each before the next: a host that runs ahead begins some steps
 * before it waits for the first time, and the mark may be a wait. Stores them in order; returns how many. */
static size_t add_heads(struct applying *self, struct gw_step_range *ranges)
{
    size_t begins[HEADS_MOST], count = 0, first = self->range_count ? self->ranges[0].first : 0;
    double similarity = 0;
    while (count < HEADS_MOST && first > 0) {
        const size_t at = step_before(self, first, 0, &similarity);
        if (at == GW_NO_EVENT || (count && similarity < LIKE_HEAD)) {
            break; /* what is set up before a loop can resemble a step a little */
        }
        begins[count++] = first = at;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t end = i + 1 < count ? begins[count - 2 - i] : self->ranges[0].first;
        ranges[i] = (struct gw_step_range){.first = begins[count - 1 - i], .count = end - begins[count - 1 - i]};
    }
    return count;
}

/* The mark may need what comes before it (a wait, a kernel) and so miss steps that follow something else: the run's
 * first ones, one after an evaluation. Looks for them right before each step that was found. */
static int add_missed(struct applying *self)
{
    struct gw_step_range *ranges = malloc((2 * self->range_count + 1 + HEADS_MOST) * sizeof(*ranges));
    if (!ranges) {
        return -ENOMEM;
    }
    size_t count = add_heads(self, ranges), end = self->range_count ? self->ranges[0].first : 0;
    for (size_t i = 0; i < self->range_count; i++) {
        double similarity = 0;
        size_t first = self->ranges[i].first;
        size_t at = first > end ? step_before(self, first, end, &similarity) : GW_NO_EVENT;
        if (at != GW_NO_EVENT) {
            ranges[count++] = (struct gw_step_range){.first = at, .count = first - at};
        }
        ranges[count++] = self->ranges[i];
        end = first + self->ranges[i].count;
    }
    free(self->ranges);
    self->ranges = ranges;
    self->range_count = count;
    return 0;
}

int gw_period_apply(const struct gw_sequence *sequence, const struct gw_mark *mark, struct gw_step_range **ret_ranges,
                    size_t *ret_count)
{
    struct applying self = {.sequence = sequence, .updates = mark->updates, .varies = mark->varies};
    int status = -ENOMEM;
    size_t count = 0;
    for (size_t at = 0; at < sequence->count; at++) {
        count += gw_mark_matches(sequence, mark, at);
    }
    self.positions = malloc((count + 1) * sizeof(*self.positions));
    self.counts = calloc(sequence->token_count + 1u, sizeof(*self.counts));
    self.ranges = malloc((count + 1) * sizeof(*self.ranges));
    if (!self.positions || !self.counts || !self.ranges) {
        goto end;
    }
    for (size_t at = 0; at < sequence->count; at++) {
        if (gw_mark_matches(sequence, mark, at)) {
            self.positions[self.count++] = at;
        }
    }
    self.positions[self.count] = sequence->count;
    if (self.count) {
        find_typical(&self, mark->from);
    }
    for (size_t unit = 0; unit < self.count; unit++) {
        take_unit(&self, unit);
    }
    status = add_missed(&self);
    if (!status) {
        *ret_ranges = self.ranges;
        *ret_count = self.range_count;
        self.ranges = NULL;
    }
end:
    free(self.positions);
    free(self.counts);
    free(self.ranges);
    return status;
}
