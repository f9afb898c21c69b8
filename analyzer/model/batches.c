#include "analyzer/model/batches.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/batch_groups.h"
#include "analyzer/model/order.h"
#include "analyzer/model/sorted.h"

#define BATCHES_MIN 6u
#define STEPS_MIN 3u
#define KINDS_MIN 3u    /* of kernels, in a step: fewer tell no evaluation from a step */
#define OWN 0.9         /* share of a micro-step's kinds of kernels that the step's last one has too */
#define ADJACENT 0.1    /* share of the steps right after another: there is no accumulation */
#define ALIKE_SIZES 0.6 /* share of the steps of one number of micro-steps for others to be several steps */
#define PARTS_MOST 64u  /* micro-steps */
#define LONG 1.3        /* times the typical length: something follows the step's last batch */
#define ORDERED 0.3     /* share of a loop's order: see gw_order_share */
#define EXPLAINED 0.75  /* share of the events that lie in steps and evaluations: else uploads tell nothing */

/* How steps follow each other when each ends with a full batch, with kinds of updates. */
struct spacing {
    size_t ends;     /* steps */
    size_t adjacent; /* right after the one before */
    size_t regular;  /* as many batches after the one before as most: `usual` */
    size_t usual, first, longest, tail;
};

static int measure_spacing(const struct gw_batches *self, size_t least_updates, struct spacing *ret_spacing)
{
    struct spacing spacing = {0};
    uint64_t *distances = malloc((self->count + 1) * sizeof(*distances));
    size_t since = 0;
    if (!distances) {
        return -ENOMEM;
    }
    for (size_t b = 0; b < self->count; b++) {
        const enum gw_batch_role role = gw_batch_role(self, b);
        since += role >= GW_BATCH_PART;
        if (role != GW_BATCH_FULL || self->groups[self->of[b]].updates < least_updates) {
            continue;
        }
        if (spacing.ends) {
            spacing.longest = since > spacing.longest ? since : spacing.longest;
            spacing.adjacent += since == 1;
            distances[spacing.ends - 1] = since;
        } else {
            spacing.first = since;
        }
        spacing.ends++;
        since = 0;
    }
    spacing.tail = since;
    if (spacing.ends > 1) {
        spacing.usual = (size_t)gw_upper_median_u64(distances, spacing.ends - 1);
        for (size_t i = 0; i + 1 < spacing.ends; i++) {
            spacing.regular += distances[i] == spacing.usual;
        }
    }
    free(distances);
    *ret_spacing = spacing;
    return 0;
}

static bool has_no_other_part(const struct gw_batches *self, const struct gw_batch_group *part)
{
    bool other = false;
    for (size_t c = 0; c < self->group_count; c++) {
        other = other || (self->groups[c].role == GW_BATCH_PART && &self->groups[c] != part);
    }
    return !other;
}

/* Makes full steps of the groups that update parameters, or of those with something at the end that the most frequent
 * one has not. Returns how many. */
static size_t find_ends(struct gw_batches *self, bool by_updates)
{
    struct gw_batch_group *core = NULL;
    size_t ends = 0;
    for (size_t c = 0; c < self->group_count; c++) {
        struct gw_batch_group *group = &self->groups[c];
        if (group->role == GW_BATCH_PART &&
            (!core || group->count > core->count || (group->count == core->count && group->kinds < core->kinds))) {
            core = group;
        }
    }
    /* When only one group does so much, what its batches follow may be parts of it. */
    if (core && !by_updates && core->of_full >= 1 && core->role == GW_BATCH_PART && has_no_other_part(self, core)) {
        core->role = GW_BATCH_FULL;
        return 1;
    }
    for (size_t c = 0; c < self->group_count; c++) {
        struct gw_batch_group *group = &self->groups[c];
        if (group->role == GW_BATCH_PART &&
            (by_updates ? group->updates > 0 : group != core && gw_batches_end_with_own(self, group, core))) {
            group->role = GW_BATCH_FULL;
            ends++;
        }
    }
    return ends;
}

/* What the batches are found to be. */
struct reading {
    bool accumulates; /* parts belong to the full batch after them; else each is a step */
    bool are_pieces;  /* parts run much less than the full batch: uploads within a step, no micro-steps */
    bool doubtful;    /* it may as well be the other way */
    size_t updates;   /* kinds of updates at the end of a step by that other way; 0: not by updates */
    size_t usual;     /* batches of a step; 0 when they vary */
};

/* What comes right before nearly each end of a step, without kernels of its own, is part of it, however much the update
 * outweighs it. */
static bool make_parts(struct gw_batches *self)
{
    size_t before[GW_BATCH_GROUPS_MAX] = {0}, ends = 0;
    const struct gw_batch_group *part = NULL;
    for (size_t b = 1; b < self->count; b++) {
        if (gw_batch_role(self, b) == GW_BATCH_FULL) {
            ends++;
            before[self->of[b - 1]]++;
        }
    }
    for (size_t c = 0; c < self->group_count; c++) {
        if (self->groups[c].role == GW_BATCH_LESS && self->groups[c].of_own >= OWN &&
            (double)before[c] >= GW_BATCH_REGULAR * (double)ends) {
            part = &self->groups[c];
        }
    }
    for (size_t c = 0; c < self->group_count && part; c++) {
        struct gw_batch_group *group = &self->groups[c];
        if (group->role == GW_BATCH_LESS && group->of_own >= OWN && group->of_full >= OWN * part->of_full) {
            group->role = GW_BATCH_PART;
        }
    }
    return part != NULL;
}

/* Where no step accumulates, what runs less than the others and is no more frequent is an evaluation. */
static void make_evaluations(struct gw_batches *self, const struct gw_batch_group *full)
{
    for (size_t c = 0; c < self->group_count; c++) {
        struct gw_batch_group *group = &self->groups[c];
        if (group->role == GW_BATCH_PART && group->of_full < GW_BATCH_SAME_WORK && group->count <= 2 * full->count) {
            group->role = GW_BATCH_LESS;
        }
    }
}

static int read_roles(struct gw_batches *self, const struct gw_batch_group *full, struct reading *ret_reading)
{
    struct spacing spacing = {0};
    const bool by_updates = full->updates > 0;
    const size_t kinds_of_ends = find_ends(self, by_updates);
    const bool outweighed = make_parts(self);
    int status = measure_spacing(self, 0, &spacing);
    if (status) {
        return status;
    }
    const double steps = (double)(spacing.ends > 1 ? spacing.ends - 1 : 1);
    const bool regular = (double)spacing.regular >= GW_BATCH_REGULAR * steps;
    struct reading reading = {.accumulates = true, .are_pieces = outweighed && by_updates, .usual = spacing.usual};
    if (by_updates) {
        reading.usual = (double)spacing.regular >= ALIKE_SIZES * steps ? spacing.usual : 0;
        /* Of two models one may be updated more often than the other: what their step is, is a matter of taste. */
        status = measure_spacing(self, full->updates, &spacing);
        reading.doubtful = !status && spacing.ends > 2 && spacing.usual > reading.usual &&
                           spacing.usual <= PARTS_MOST &&
                           (double)spacing.regular >= GW_BATCH_REGULAR * (double)(spacing.ends - 1);
        reading.updates = full->updates;
    } else {
        /* Nothing but their order tells a step with something besides from a micro-step with an update. */
        const bool may = spacing.ends > 1 && spacing.longest > 1 && (double)spacing.adjacent <= ADJACENT * steps &&
                         spacing.usual <= PARTS_MOST && (regular || kinds_of_ends == 1);
        const bool whole = spacing.tail == 0 && (!regular || spacing.first == spacing.usual);
        /* Loops log, checkpoint or average every 5th, 7th or 10th step; they accumulate over powers of two and 3, 6. */
        const bool usual = spacing.usual % 5 != 0 && spacing.usual % 7 != 0;
        reading.accumulates = may && whole && usual;
        reading.doubtful = may;
        reading.usual = !reading.accumulates ? 1 : regular ? spacing.usual : 0;
        if (!reading.accumulates) {
            make_evaluations(self, full);
        }
    }
    *ret_reading = reading;
    return status;
}

/* Appends a step of batches [first, last], several if they are so many times the usual number. */
static void add_steps(const struct gw_batches *self, size_t first, size_t last, const struct reading *reading,
                      struct gw_found_steps *found)
{
    const size_t batches = last - first + 1;
    const size_t each = reading->usual && batches % reading->usual == 0 ? reading->usual : batches;
    for (size_t b = first; b <= last; b += each) {
        found->ranges[found->count++] = (struct gw_step_range){
            .first = self->positions[b],
            .count = self->positions[b + each] - self->positions[b],
            .open = b + each == self->count,
        };
    }
}

static void collect(const struct gw_batches *self, const struct reading *reading, struct gw_found_steps *found)
{
    size_t first = GW_NO_EVENT;
    for (size_t b = 0; b < self->count; b++) {
        const enum gw_batch_role role = gw_batch_role(self, b);
        if (role < GW_BATCH_PART) {
            first = GW_NO_EVENT; /* micro-steps without an update */
            continue;
        }
        first = first == GW_NO_EVENT ? b : first;
        if (role == GW_BATCH_FULL || !reading->accumulates) {
            add_steps(self, first, b, reading, found);
            first = GW_NO_EVENT;
        }
    }
}

/* Begins of steps were it the other way: of each batch where it was taken for accumulation, else of those after an
 * end. */
static int list_others(const struct gw_batches *self, const struct reading *reading, struct gw_found_steps *found)
{
    size_t *begins = malloc((self->count + 1) * sizeof(*begins)), count = 0;
    bool begins_here = true;
    if (!begins) {
        return -ENOMEM;
    }
    for (size_t b = 0; b < self->count; b++) {
        const enum gw_batch_role role = gw_batch_role(self, b);
        if (role >= GW_BATCH_PART && ((reading->accumulates && !reading->updates) || begins_here)) {
            begins[count++] = self->positions[b];
        }
        if (role >= GW_BATCH_PART) {
            begins_here = role == GW_BATCH_FULL && self->groups[self->of[b]].updates >= reading->updates;
        }
    }
    found->others = begins;
    found->other_count = count;
    return 0;
}

/* Where the operations of a range end. */
static size_t end_of_operations(const struct gw_batches *self, const struct gw_step_range *range)
{
    size_t end = range->first + range->count;
    while (end > range->first + 1 && self->sequence->events[end - 1].op == GW_NONE) {
        end--;
    }
    return end;
}

/* Ends the run's last step with the waits that the one before ends with: the program waits in other ways when it is
 * done. */
static void end_last(const struct gw_batches *self, const struct gw_step_range *before, struct gw_step_range *last)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t usual = end_of_operations(self, before), end = end_of_operations(self, last);
    while (usual < before->first + before->count && end < last->first + last->count &&
           events[usual].token == events[end].token) {
        usual++;
        end++;
    }
    last->count = end - last->first;
}

/* Ends steps that are longer than usual before what follows their last batch without a batch of its own and no step of
 * the usual length has, such as an evaluation, or before copies, such as a long checkpoint. */
static void trim(struct gw_batches *self, size_t usual, struct gw_found_steps *found)
{
    const struct gw_sequence_event *events = self->sequence->events;
    const uint32_t known = ++self->range;
    size_t typical = 0;
    while (typical + 1 < found->count && found->ranges[typical].count != usual) {
        typical++;
    }
    for (size_t e = 0; e < found->ranges[typical].count; e++) {
        self->seen[events[found->ranges[typical].first + e].token] = known;
    }
    for (size_t i = 0; i < found->count; i++) {
        struct gw_step_range *range = &found->ranges[i];
        size_t end = range->first + range->count;
        while (end > range->first && (!gw_is_kernel(&events[end - 1]) || self->seen[events[end - 1].token] != known)) {
            end--;
        }
        const size_t behind = range->first + range->count - end;
        if ((double)range->count > LONG * (double)usual && (double)behind > (LONG - 1) * (double)usual) {
            range->count -= behind;
            range->open = true;
        }
    }
}

/* Begins the first step where as many operations lie before its first kernel as in the next one: uploads of what sets
 * the loop up may come right before. */
static void skip_set_up(const struct gw_batches *self, struct gw_step_range *first, const struct gw_step_range *next)
{
    const struct gw_sequence_event *events = self->sequence->events;
    size_t before = 0, usual = 0;
    while (before < first->count && !gw_is_kernel(&events[first->first + before])) {
        before++;
    }
    while (usual < next->count && !gw_is_kernel(&events[next->first + usual])) {
        usual++;
    }
    const size_t skipped = before > usual ? before - usual : 0;
    first->first += skipped;
    first->count -= skipped;
}

static int finish(struct gw_batches *self, const struct reading *reading, struct gw_found_steps *found)
{
    uint64_t *lengths = malloc((found->count + 1) * sizeof(*lengths));
    size_t covered = 0;
    double alike = 0;
    if (!lengths) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < found->count; i++) {
        lengths[i] = found->ranges[i].count;
    }
    const size_t length = (size_t)gw_upper_median_u64(lengths, found->count);
    free(lengths);
    /* What sets the loop up may run all that a step does, and more. */
    if ((double)found->ranges[0].count > GW_UNIT_UNUSUAL * (double)length) {
        memmove(found->ranges, found->ranges + 1, --found->count * sizeof(*found->ranges));
    }
    skip_set_up(self, &found->ranges[0], &found->ranges[1]);
    if (found->ranges[found->count - 1].open) {
        end_last(self, &found->ranges[found->count - 2], &found->ranges[found->count - 1]);
    }
    trim(self, length, found);
    for (size_t i = 0; i < found->count; i++) {
        covered += found->ranges[i].count;
    }
    for (size_t i = 0; i + 1 < found->count; i++) {
        const struct gw_step_range *range = &found->ranges[i];
        alike += gw_similarity(self->sequence, self->counts, range[0].first, range[0].first + range[0].count,
                               range[1].first, range[1].first + range[1].count);
    }
    for (size_t b = 0; b < self->count; b++) {
        covered += gw_batch_role(self, b) == GW_BATCH_LESS ? self->positions[b + 1] - self->positions[b] : 0;
    }
    const double explained = fmin(1, (double)covered / (double)self->sequence->count);
    found->found = explained >= EXPLAINED;
    found->regularity = explained * alike / (double)(found->count - 1);
    found->confidence = (1 - 1 / (double)(found->count + 1)) * found->regularity;
    found->micro_steps =
        reading->accumulates && !reading->are_pieces && reading->usual > 1 ? (uint32_t)reading->usual : 0;
    return 0;
}

/* Whether the steps repeat each other in their order too: requests of any kind do not. */
static int measure_order(const struct gw_batches *self, const struct gw_found_steps *found, double *ret_order)
{
    size_t *begins = malloc((found->count + 1) * sizeof(*begins));
    if (!begins) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < found->count; i++) {
        begins[i] = found->ranges[i].first;
    }
    begins[found->count] = found->ranges[found->count - 1].first + found->ranges[found->count - 1].count;
    int status = gw_order_share(self->sequence, begins, found->count + 1, ret_order);
    free(begins);
    return status;
}

int gw_batches_find(const struct gw_sequence *sequence, struct gw_found_steps *ret_found, bool *ret_by_updates)
{
    struct gw_found_steps found = {0};
    struct gw_batches self;
    struct reading reading;
    struct gw_batch_group *full = NULL;
    bool ahead = false;
    double order = 0;
    int status = gw_batches_create(sequence, &self);
    if (!status && self.count >= BATCHES_MIN && !sequence->has_uploaders) {
        status = gw_batches_group(&self);
        full = status ? NULL : gw_batches_find_full(&self);
    }
    if (!full || full->kinds < KINDS_MIN || (full->updates && !gw_batches_updates_end(&self))) {
        goto end;
    }
    gw_batches_give_roles(&self, full);
    status = gw_batches_run_ahead(&self, &ahead);
    if (status || ahead || !gw_batches_are_comparable(&self, full)) {
        goto end;
    }
    status = read_roles(&self, full, &reading);
    if (!status && !gw_batches_are_phases(&self)) {
        goto end;
    }
    found.ranges = status ? NULL : malloc((self.count + 1) * sizeof(*found.ranges));
    if (!found.ranges) {
        status = -ENOMEM;
        goto end;
    }
    collect(&self, &reading, &found);
    if (found.count >= STEPS_MIN) {
        status = finish(&self, &reading, &found);
        status = status ? status : measure_order(&self, &found, &order);
        found.found = !status && found.found && order >= ORDERED;
        if (found.found && reading.doubtful) {
            status = list_others(&self, &reading, &found);
        }
    }
end:
    gw_batches_clear(&self);
    if (!found.found) {
        gw_found_steps_clear(&found);
    }
    if (status == -E2BIG) {
        status = 0;
    }
    if (!status) {
        *ret_found = found;
        *ret_by_updates = full && full->updates;
    }
    return status;
}
