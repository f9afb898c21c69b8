#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/batches.h"
#include "analyzer/model/sequence.h"

#define REGULAR_MIN 3u     /* steps that are compared with each other */
#define SECOND_OPINION 0.8 /* confidence from which what is found by repetition counts beside what batches tell */
#define SAME_COUNT 0.05    /* relative difference of two counts of steps that are the same */
#define WHOLE 0.99         /* share of batches that end with one kernel */
#define DOUBTFUL 0.6       /* confidence at most, when another reading is about as likely */

void gw_found_steps_clear(struct gw_found_steps *found)
{
    free(found->ranges);
    free(found->others);
    *found = (struct gw_found_steps){0};
}

/* How alike the steps are that follow each other, and how much of the time from the first to the last they are. */
static int measure_regularity(const struct gw_sequence *sequence, struct gw_found_steps *found)
{
    const struct gw_step_range *ranges = found->ranges;
    uint32_t *counts = calloc(sequence->token_count + 1u, sizeof(*counts));
    double alike = 0;
    size_t covered = 0;
    if (!counts) {
        return -ENOMEM;
    }
    for (size_t i = 0; i + 1 < found->count; i++) {
        size_t end = ranges[i].first + ranges[i].count, next = ranges[i + 1].first;
        alike += gw_similarity(sequence, counts, ranges[i].first, end, next, next + ranges[i + 1].count);
        covered += ranges[i].count;
    }
    free(counts);
    if (found->count > REGULAR_MIN) {
        size_t span = ranges[found->count - 1].first - ranges[0].first;
        found->regularity = alike / (double)(found->count - 1) * (double)covered / (double)span;
        found->confidence *= found->regularity; /* requests of a server are no steps */
    }
    return 0;
}

static int list_marks(const struct gw_sequence *sequence, const struct gw_mark *mark, struct gw_found_steps *found)
{
    found->others = malloc((sequence->count + 1) * sizeof(*found->others));
    for (size_t at = 0; at < sequence->count && found->others; at++) {
        if (gw_mark_matches(sequence, mark, at)) {
            found->others[found->other_count++] = at;
        }
    }
    return found->others ? 0 : -ENOMEM;
}

static int find_by_repetition(const struct gw_sequence *sequence, struct gw_found_steps *ret_found)
{
    struct gw_found_steps found = {0};
    struct gw_period period = {0};
    int status = gw_period_find(sequence, &period);
    if (!status && period.found) {
        found.found = true;
        found.confidence = period.confidence;
        found.micro_steps = period.mark.parts;
        status = gw_period_apply(sequence, &period.mark, &found.ranges, &found.count);
        status = status ? status : measure_regularity(sequence, &found);
    }
    if (!status && period.doubtful) {
        status = list_marks(sequence, &period.other, &found);
    }
    if (status) {
        gw_found_steps_clear(&found);
    } else {
        *ret_found = found;
    }
    return status;
}

/* Takes the steps of another search as another reading. */
static int take_others(const struct gw_found_steps *other, struct gw_found_steps *found)
{
    size_t *begins = malloc((other->count + 1) * sizeof(*begins));
    if (!begins) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < other->count; i++) {
        begins[i] = other->ranges[i].first;
    }
    found->others = begins;
    found->other_count = other->count;
    return 0;
}

/* Whether steps hold several batches each of which ends with the same kernel: each may be a step, of kinds that take
 * turns. The last of micro-steps ends with the update. */
static bool hold_whole_batches(const struct gw_sequence *sequence, const struct gw_found_steps *found)
{
    const struct gw_mark mark = {.kind = GW_MARK_BATCH};
    const struct gw_step_range *last = &found->ranges[found->count - 1];
    size_t batches = 0, alike = 0;
    uint32_t kernel = GW_NONE, usual = GW_NONE;
    for (size_t at = found->ranges[0].first; at < last->first + last->count; at++) {
        if (gw_mark_matches(sequence, &mark, at)) {
            usual = usual == GW_NONE ? kernel : usual;
            alike += kernel == usual;
            batches++;
        }
        kernel = sequence->events[at].traits & GW_TRAIT_KERNEL ? sequence->events[at].token : kernel;
    }
    return !sequence->has_uploaders && batches >= 2 * found->count && (double)alike >= WHOLE * (double)batches;
}

int gw_found_steps_find(const struct gw_sequence *sequence, struct gw_found_steps *ret_found)
{
    struct gw_found_steps found = {0}, repeated = {0};
    bool by_updates = false;
    int status = gw_batches_find(sequence, &found, &by_updates);
    if (!status && sequence->count && !(found.found && by_updates)) {
        status = find_by_repetition(sequence, &repeated);
    }
    if (!status && !found.found) {
        found = repeated;
        repeated = (struct gw_found_steps){0};
    } else if (!status && !found.others && repeated.confidence >= SECOND_OPINION &&
               fabs((double)repeated.count - (double)found.count) > SAME_COUNT * (double)found.count) {
        status = take_others(&repeated, &found);
    }
    gw_found_steps_clear(&repeated);
    if (!status && found.found && !found.others && hold_whole_batches(sequence, &found)) {
        const struct gw_mark mark = {.kind = GW_MARK_BATCH};
        status = list_marks(sequence, &mark, &found);
    }
    if (!status && found.others) {
        found.confidence = fmin(found.confidence, DOUBTFUL);
    }
    if (status) {
        gw_found_steps_clear(&found);
    } else {
        *ret_found = found;
    }
    return status;
}
