#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sequence.h"

#define WINDOW_EVENTS 131072u /* judged; the mark found there is applied to the whole sequence */
#define MARKS_MAX 64u
#define ALIKE 0.7        /* similarity of neighbouring units of one loop */
#define GOOD_SHARE 0.85  /* of the best score: as good as the best */
#define SAME_PERIOD 0.03 /* relative difference of two periods that are the same */
#define PARTS_MAX 64u    /* more equal parts than this are steps of an epoch, not parts of a step */
#define SAMPLED_UNITS 64u
#define REMAINDER_SHARE 0.7 /* of the units: this many must have the extra operations for them to count */

struct judged {
    struct gw_mark mark;
    size_t *positions;
    size_t count;
    double score;  /* share of the window in units like their neighbours, times how alike they are */
    double period; /* mean events of such a unit */
    bool host;     /* most units contain an upload, a read or a wait */
};

static void judge(const struct gw_sequence *sequence, size_t first, size_t last, uint32_t *counts,
                  struct judged *judged)
{
    size_t units = judged->count ? judged->count - 1 : 0, alike = 0, with_host = 0;
    double covered = 0, quality = 0, before = 0;
    for (size_t i = 0; i < units; i++) {
        const size_t *at = judged->positions + i;
        double after = i + 1 < units ? gw_similarity(sequence, counts, at[0], at[1], at[1], at[2]) : 0.0;
        double best = fmax(before, after);
        before = after;
        if (best < ALIKE) {
            continue;
        }
        alike++;
        covered += (double)(at[1] - at[0]);
        quality += best * (double)(at[1] - at[0]);
        uint8_t traits = 0;
        for (size_t e = at[0]; e < at[1]; e++) {
            traits |= sequence->events[e].traits;
        }
        with_host += (traits & GW_TRAITS_HOST) != 0;
    }
    if (!alike) {
        return;
    }
    judged->period = covered / (double)alike;
    judged->host = with_host * 5 >= alike * 4;
    /* The unit after the last mark has no end in the window, so it does not count against the mark. */
    double tail = fmin((double)(last - judged->positions[units]), judged->period);
    judged->score = covered / ((double)(last - first) - tail) * (quality / covered);
}

/* Events of each token (or lane) in one unit. */
static void count_unit(const struct gw_sequence *sequence, size_t first, size_t last, bool lanes, uint32_t *counts)
{
    for (size_t e = first; e < last; e++) {
        counts[lanes ? sequence->events[e].lane : sequence->events[e].token]++;
    }
}

static size_t parts_within(const struct judged *inner, size_t first, size_t last)
{
    size_t low = 0, high = inner->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (inner->positions[middle] < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t parts = 0;
    while (low + parts < inner->count && inner->positions[low + parts] < last) {
        parts++;
    }
    return parts;
}

/* What is left of the outer unit beyond k equal parts, in operations per unit. */
struct remainder {
    double extra;  /* of tokens that the parts do not have: an optimizer after accumulation */
    double uneven; /* of tokens that some parts have and others lack: an evaluation between steps */
};

static int find_remainder(const struct gw_sequence *sequence, const struct judged *outer, size_t parts, uint8_t traits,
                          bool lanes, struct remainder *ret_remainder)
{
    size_t numbers = lanes ? sequence->lane_count : sequence->token_count;
    size_t units = outer->count - 1, sampled = 0, step = units / SAMPLED_UNITS + 1;
    uint32_t *counts = calloc(numbers, sizeof(*counts));
    uint32_t *with_extra = calloc(numbers, sizeof(*with_extra)), *with_uneven = calloc(numbers, sizeof(*with_uneven));
    double *extra = calloc(numbers, sizeof(*extra)), *uneven = calloc(numbers, sizeof(*uneven));
    uint8_t *traits_of = calloc(numbers, sizeof(*traits_of));
    int status = counts && with_extra && with_uneven && extra && uneven && traits_of ? 0 : -ENOMEM;
    for (size_t u = 0; u < units && !status; u += step, sampled++) {
        count_unit(sequence, outer->positions[u], outer->positions[u + 1], lanes, counts);
        for (size_t e = outer->positions[u]; e < outer->positions[u + 1]; e++) {
            uint32_t number = lanes ? sequence->events[e].lane : sequence->events[e].token;
            uint32_t count = counts[number];
            counts[number] = 0;
            if (!count) {
                continue;
            }
            traits_of[number] = sequence->events[e].traits;
            double each = floor((double)count / (double)parts + 0.5 - 1e-9);
            double rest = (double)count - each * (double)parts;
            if (each < 0.5 && rest > 0) {
                with_extra[number]++;
                extra[number] += rest;
            } else if (fabs(rest) > 0.5) {
                with_uneven[number]++;
                uneven[number] += fabs(rest);
            }
        }
    }
    struct remainder remainder = {0};
    for (size_t n = 0; n < numbers && !status; n++) {
        if (!(traits_of[n] & traits)) {
            continue;
        }
        if (with_extra[n] >= REMAINDER_SHARE * (double)sampled) {
            remainder.extra += extra[n] / (double)sampled;
        }
        if (with_uneven[n] >= REMAINDER_SHARE * (double)sampled) {
            remainder.uneven += uneven[n] / (double)sampled;
        }
    }
    free(counts);
    free(with_extra);
    free(with_uneven);
    free(extra);
    free(uneven);
    free(traits_of);
    if (!status) {
        *ret_remainder = remainder;
    }
    return status;
}

static int compare_sizes(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

/* Whether the outer unit is nothing but several inner ones: then the inner one is the step. Operations that come once
 * for all parts (an optimizer) make the outer one the step; a log line or a checkpoint (copies, waits) does not, unless
 * the parts never meet the host, as layers do. */
static int is_repetition(const struct gw_sequence *sequence, const struct judged *outer, const struct judged *inner,
                         bool *ret_repetition)
{
    size_t parts_of[SAMPLED_UNITS], sampled = 0, units = outer->count - 1;
    size_t step = units / SAMPLED_UNITS + 1;
    for (size_t u = 0; u < units; u += step) {
        parts_of[sampled++] = parts_within(inner, outer->positions[u], outer->positions[u + 1]);
    }
    qsort(parts_of, sampled, sizeof(*parts_of), compare_sizes);
    size_t parts = parts_of[sampled / 2], agreeing = 0;
    for (size_t i = 0; i < sampled; i++) {
        agreeing += parts_of[i] == parts;
    }
    *ret_repetition = false;
    if (parts < 2 || (!inner->host && agreeing * 5 < sampled * 4)) {
        return 0;
    }
    if (inner->host && (parts > PARTS_MAX || agreeing * 5 < sampled * 4)) {
        *ret_repetition = true;
        return 0;
    }
    struct remainder rest;
    int status = find_remainder(sequence, outer, parts, GW_TRAIT_KERNEL, false, &rest);
    if (status || rest.extra > rest.uneven) {
        return status;
    }
    if (!inner->host) {
        if (outer->host || outer->mark.kind == GW_MARK_AFTER_GAP) {
            return 0;
        }
        status = find_remainder(sequence, outer, parts, GW_TRAIT_KERNEL, true, &rest);
        if (status || rest.extra > 0 || rest.uneven > 0) {
            return status;
        }
    }
    *ret_repetition = true;
    return 0;
}

static int choose(const struct gw_sequence *sequence, struct judged *judged, size_t count, size_t *ret_chosen)
{
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        best = fmax(best, judged[i].score);
    }
    size_t chosen = count;
    for (size_t i = 0; i < count; i++) {
        if (judged[i].score >= GOOD_SHARE * best && judged[i].score > 0 &&
            (chosen == count || judged[i].period > judged[chosen].period)) {
            chosen = i;
        }
    }
    /* From the longest unit inwards, to the longest of those it repeats. */
    for (bool repeats = chosen < count; repeats;) {
        size_t inner = count;
        repeats = false;
        for (size_t i = 0; i < count; i++) {
            bool repetition = false;
            if (judged[i].score < GOOD_SHARE * best || judged[i].period > (1 - SAME_PERIOD) * judged[chosen].period ||
                (inner < count && judged[i].period <= judged[inner].period)) {
                continue;
            }
            int status = is_repetition(sequence, &judged[chosen], &judged[i], &repetition);
            if (status) {
                return status;
            }
            if (repetition) {
                inner = i;
            }
        }
        if (inner < count) {
            chosen = inner;
            repeats = true;
        }
    }
    /* Marks of one period differ in where the unit begins. */
    size_t top = chosen;
    for (size_t i = 0; i < count && chosen < count; i++) {
        bool same = fabs(judged[i].period - judged[chosen].period) <= SAME_PERIOD * judged[chosen].period;
        if (same && judged[i].score >= 0.95 * judged[chosen].score &&
            judged[i].mark.preference > judged[top].mark.preference) {
            top = i;
        }
    }
    *ret_chosen = top;
    return 0;
}

int gw_period_find(const struct gw_sequence *sequence, struct gw_mark *ret_mark, double *ret_confidence,
                   bool *ret_found)
{
    size_t first = sequence->count > WINDOW_EVENTS ? (sequence->count - WINDOW_EVENTS) / 2 : 0;
    size_t last = sequence->count > WINDOW_EVENTS ? first + WINDOW_EVENTS : sequence->count;
    struct gw_mark marks[MARKS_MAX];
    struct judged judged[MARKS_MAX];
    size_t count = 0, chosen = 0;
    uint32_t *counts = NULL;
    memset(judged, 0, sizeof(judged));
    *ret_found = false;
    if (last - first < 3) {
        return 0;
    }
    int status = gw_marks_collect(sequence, first, last, marks, MARKS_MAX, &count);
    counts = calloc(sequence->token_count, sizeof(*counts));
    if (status || !counts) {
        status = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < count; i++) {
        judged[i].mark = marks[i];
        judged[i].positions = malloc((last - first) * sizeof(size_t));
        if (!judged[i].positions) {
            status = -ENOMEM;
            goto end;
        }
        for (size_t at = first; at < last; at++) {
            if (gw_mark_matches(sequence, &marks[i], at)) {
                judged[i].positions[judged[i].count++] = at;
            }
        }
        judge(sequence, first, last, counts, &judged[i]);
    }
    status = choose(sequence, judged, count, &chosen);
    /* One operation over and over, and the host never in it: nothing tells one step from the next. */
    if (!status && chosen < count && (judged[chosen].period > 1.5 || judged[chosen].host)) {
        *ret_mark = judged[chosen].mark;
        *ret_confidence = fmin(1.0, judged[chosen].score) * (1.0 - 1.0 / (double)judged[chosen].count);
        *ret_found = true;
    }
end:
    for (size_t i = 0; i < count; i++) {
        free(judged[i].positions);
    }
    free(counts);
    return status;
}
