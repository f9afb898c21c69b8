#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/order.h"

#define MARKS_MAX 128u
#define ALIKE 0.7            /* similarity of neighbouring units of one loop */
#define GOOD_SHARE 0.85      /* of the best score: as good as the best */
#define EVALUATED_SHARE 0.5  /* of the best score: steps of which every second or third is followed by an evaluation */
#define EVALUATION_MOST 0.25 /* of a step: longer evaluations make units of another length */
#define AS_GOOD_SHARE 0.9    /* of the best score: what another mark of the same units may have */
#define SAME_PERIOD 0.03     /* relative difference of two periods that are the same */
#define PARTS_MAX 64u        /* more equal parts than this are steps of an epoch, not parts of a step */
#define SAMPLED_UNITS 64u
#define WHOLE 0.95           /* similarity of a whole unit to the one before */
#define PREFER_WHOLE_END 0.5 /* see gw_mark.preference */
#define ORDERED 0.3          /* share of a loop's order below which units are alike by chance: see gw_order_share */
#define REMAINDER_SHARE 0.7  /* of the units: this many must have the extra operations for them to count */
#define EARLIER_SHARE 0.5    /* of the best mark's units: more marks before its first are of another phase */
#define MISSED_SHARE 0.05    /* of the best mark's units: see is_as_good */
#define FIRST_UNITS 2.0 /* of a run, may lack what a mark needs: an optimizer sets itself up after its first step */
#define FIRST_SHARE 0.1 /* of the score, at most, that a mark may lose by them */

struct judged {
    struct gw_mark mark;
    size_t *positions;
    size_t count;
    double score;  /* share of the window in units like their neighbours, times how alike they are */
    double period; /* events of such a unit: the median, weighted by events */
    bool host;     /* most units contain an upload, a read or a wait */
    bool replays;  /* most units replay a graph: many kernels behind one event */
};

static int compare_sizes(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

/* The length of the unit that the middle event of all lies in. */
static double weighted_median(size_t *lengths, size_t count, double sum)
{
    double before = 0;
    size_t i = 0;
    qsort(lengths, count, sizeof(*lengths), compare_sizes);
    while (i + 1 < count && before + (double)lengths[i] < sum / 2) {
        before += (double)lengths[i++];
    }
    return (double)lengths[i];
}

/* Room for judging: a place for every unit. */
struct judging {
    uint32_t *counts; /* by token, all zero */
    size_t *lengths;
    double *best; /* similarity to the more similar neighbour */
};

static void judge(const struct gw_sequence *sequence, size_t first, size_t last, const struct judging *room,
                  struct judged *judged)
{
    size_t units = judged->count ? judged->count - 1 : 0, alike = 0, usual = 0, with_host = 0, with_replays = 0;
    double covered = 0, quality = 0, before = 0;
    for (size_t i = 0; i < units; i++) {
        const size_t *at = judged->positions + i;
        double after = i + 1 < units ? gw_similarity(sequence, room->counts, at[0], at[1], at[1], at[2]) : 0.0;
        room->best[i] = fmax(before, after);
        before = after;
        if (room->best[i] >= ALIKE) {
            room->lengths[alike++] = at[1] - at[0];
            covered += (double)(at[1] - at[0]);
        }
    }
    if (!alike) {
        return;
    }
    judged->period = weighted_median(room->lengths, alike, covered);
    covered = 0;
    for (size_t i = 0; i < units; i++) {
        const size_t *at = judged->positions + i;
        double length = (double)(at[1] - at[0]);
        if (room->best[i] < ALIKE || length * GW_UNIT_UNUSUAL < judged->period ||
            length > judged->period * GW_UNIT_UNUSUAL) {
            continue;
        }
        uint8_t traits = 0;
        for (size_t e = at[0]; e < at[1]; e++) {
            traits |= sequence->events[e].traits;
        }
        with_host += (traits & GW_TRAITS_HOST) != 0;
        with_replays += (traits & GW_TRAIT_REPLAY) != 0;
        covered += length;
        quality += room->best[i] * length;
        usual++;
    }
    judged->host = with_host * 5 >= usual * 4;
    judged->replays = with_replays * 5 >= usual * 4;
    /* The unit after the last mark has no end in the window, so it does not count against the mark. */
    double tail = fmin((double)(last - judged->positions[units]), judged->period);
    judged->score = quality / ((double)(last - first) - tail);
}

/* Index of the first mark at or after an event. */
static size_t first_at(const struct judged *judged, size_t event)
{
    size_t low = 0, high = judged->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (judged->positions[middle] < event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t parts_within(const struct judged *inner, size_t first, size_t last)
{
    return first_at(inner, last) - first_at(inner, first);
}

/* What sets the parts of an outer unit apart, in operations per unit. */
struct remainder {
    double extra;  /* of tokens that one part alone has: an optimizer after accumulation */
    double uneven; /* missing, of tokens that several parts have and others lack: an evaluation between steps */
    double split;  /* of tokens that several parts have and several others lack: the parts are no steps */
};

struct remainder_work {
    uint32_t *counts, *present, *seen_in; /* of each token within a unit: events, parts that have it, last such part */
    uint32_t *with_extra, *with_uneven;   /* units in which the token sets parts apart, and by how many events */
    double *extra, *uneven, *split;
};

static bool are_alike(const struct gw_sequence *sequence, const size_t *bounds, size_t parts, uint32_t *counts)
{
    for (size_t part = 1; part < parts; part++) {
        const size_t *at = bounds + part - 1;
        if (gw_similarity(sequence, counts, at[0], at[1], at[1], at[2]) < ALIKE) {
            return false;
        }
    }
    return true;
}

/* Of parts that are alike, what all but one have does not set them apart: gradients are added up from the second
 * micro-step on. */
static void add_unit(const struct gw_sequence *sequence, const size_t *bounds, size_t parts, uint8_t traits, bool lanes,
                     struct remainder_work *work)
{
    bool alike = are_alike(sequence, bounds, parts, work->counts);
#define NUMBER(e) (lanes ? sequence->events[e].lane : sequence->events[e].token)
    for (size_t part = 0; part < parts; part++) {
        for (size_t e = bounds[part]; e < bounds[part + 1]; e++) {
            uint32_t number = NUMBER(e);
            work->counts[number]++;
            work->present[number] += work->seen_in[number] != part + 1;
            work->seen_in[number] = (uint32_t)part + 1;
        }
    }
    for (size_t e = bounds[0]; e < bounds[parts]; e++) {
        uint32_t number = NUMBER(e), count = work->counts[number], present = work->present[number];
        if (count && (sequence->events[e].traits & traits) && present < parts) {
            bool alone = present == 1, uneven = !alone && !(alike && present + 1 == parts);
            work->with_extra[number] += alone;
            work->with_uneven[number] += uneven;
            work->extra[number] += alone ? count : 0;
            work->uneven[number] += !uneven ? 0 : (double)(parts - present) * count / present;
            work->split[number] += uneven && present + 1 < parts ? count : 0;
        }
        work->counts[number] = work->present[number] = work->seen_in[number] = 0;
    }
#undef NUMBER
}

/* What sets apart the parts of outer units that have `parts` of them, or of all with more than one when parts is 0. */
static int find_remainder(const struct gw_sequence *sequence, const struct judged *outer, const struct judged *inner,
                          size_t parts, uint8_t traits, bool lanes, struct remainder *ret_remainder)
{
    size_t numbers = lanes ? sequence->lane_count : sequence->token_count;
    size_t units = outer->count - 1, sampled = 0, step = units / SAMPLED_UNITS + 1;
    uint32_t *integers = calloc(numbers * 5, sizeof(*integers));
    double *sums = calloc(numbers * 3, sizeof(*sums));
    int status = integers && sums ? 0 : -ENOMEM;
    struct remainder_work work = {
        integers, integers + numbers, integers + numbers * 2, integers + numbers * 3, integers + numbers * 4,
        sums,     sums + numbers,     sums + numbers * 2};
    for (size_t u = 0; u < units && !status; u += step) {
        size_t first = outer->positions[u], last = outer->positions[u + 1];
        size_t inner_first = first_at(inner, first), within = parts_within(inner, first, last);
        bool wanted = parts ? within == parts : within > 1;
        /* From the first inner mark to that of the next outer unit: all parts are whole then. */
        if (wanted && inner_first + within < inner->count) {
            add_unit(sequence, inner->positions + inner_first, within, traits, lanes, &work);
            sampled++;
        }
    }
    struct remainder remainder = {0};
    for (size_t n = 0; n < numbers && sampled && !status; n++) {
        if (work.with_extra[n] >= REMAINDER_SHARE * (double)sampled) {
            remainder.extra += work.extra[n] / (double)sampled;
        }
        if (work.with_uneven[n] >= REMAINDER_SHARE * (double)sampled) {
            remainder.uneven += work.uneven[n] / (double)sampled;
            remainder.split += work.split[n] / (double)sampled;
        }
    }
    free(integers);
    free(sums);
    if (!status) {
        *ret_remainder = remainder;
    }
    return status;
}

/* Scratch for counting what differs in a range: the number of the range in which each was seen last. */
struct seen {
    uint32_t *tokens, *lanes, *devices; /* of kernels */
    uint32_t range;
};

struct kinds {
    size_t kernels, lanes, devices;
};

/* Adds the distinct kernels of a range, those with their streams, and the devices they run on. */
static void count_kinds(const struct gw_sequence *sequence, size_t first, size_t last, struct seen *seen,
                        struct kinds *kinds)
{
    seen->range++;
    for (size_t e = first; e < last; e++) {
        const struct gw_sequence_event *event = &sequence->events[e];
        if (!(event->traits & GW_TRAIT_KERNEL)) {
            continue;
        }
        kinds->kernels += seen->tokens[event->token] != seen->range;
        kinds->lanes += seen->lanes[event->lane] != seen->range;
        kinds->devices += seen->devices[event->device] != seen->range;
        seen->tokens[event->token] = seen->lanes[event->lane] = seen->devices[event->device] = seen->range;
    }
}

/* Whether the inner units are pieces of a step: they run few of the kernels that the outer unit runs (a layer, or a
 * loop the host waits in), or each serves another device. */
static int is_piece(const struct gw_sequence *sequence, const struct judged *outer, const struct judged *inner,
                    bool *ret_piece)
{
    size_t units = outer->count - 1, step = units / SAMPLED_UNITS + 1, sampled = 0, parts = 0;
    struct kinds of_units = {0}, of_parts = {0};
    struct seen seen = {calloc(sequence->token_count + 1u, sizeof(*seen.tokens)),
                        calloc(sequence->lane_count + 1u, sizeof(*seen.lanes)),
                        calloc(UINT16_MAX + 1u, sizeof(*seen.devices)), 0};
    int status = seen.tokens && seen.lanes && seen.devices ? 0 : -ENOMEM;
    for (size_t u = 0; u < units && !status; u += step) {
        size_t part = first_at(inner, outer->positions[u]), end = first_at(inner, outer->positions[u + 1]);
        if (end == part || end >= inner->count) {
            continue;
        }
        count_kinds(sequence, inner->positions[part], inner->positions[end], &seen, &of_units);
        parts += end - part;
        sampled++;
        for (; part < end; part++) {
            count_kinds(sequence, inner->positions[part], inner->positions[part + 1], &seen, &of_parts);
        }
    }
    free(seen.tokens);
    free(seen.lanes);
    free(seen.devices);
    if (!status) {
        *ret_piece = 2 * of_parts.kernels * sampled < of_units.kernels * parts ||
                     (of_units.devices > sampled && 4 * of_parts.lanes * sampled < 3 * of_units.lanes * parts);
    }
    return status;
}

/* How many inner units a typical outer one has: the median of those that are not unusually short or long. */
static size_t typical_parts(const struct judged *outer, const struct judged *inner, bool *ret_agreeing)
{
    size_t parts_of[SAMPLED_UNITS], sampled = 0, agreeing = 0, units = outer->count - 1;
    size_t step = units / SAMPLED_UNITS + 1;
    for (size_t u = 0; u < units; u += step) {
        double length = (double)(outer->positions[u + 1] - outer->positions[u]);
        if (length * GW_UNIT_UNUSUAL >= outer->period && length <= outer->period * GW_UNIT_UNUSUAL) {
            parts_of[sampled++] = parts_within(inner, outer->positions[u], outer->positions[u + 1]);
        }
    }
    if (!sampled) {
        return 0;
    }
    qsort(parts_of, sampled, sizeof(*parts_of), compare_sizes);
    size_t parts = parts_of[sampled / 2];
    for (size_t i = 0; i < sampled; i++) {
        agreeing += parts_of[i] == parts;
    }
    *ret_agreeing = agreeing * 5 >= sampled * 3;
    return parts;
}

/* Whether the outer unit is nothing but several inner ones: then the inner one is the step. Operations that come once
 * for all parts (an optimizer) make the outer one the step; a log line or a checkpoint (copies, waits) does not, unless
 * the parts never meet the host, as layers do. Silences with now more, now fewer parts between them are the machine's
 * doing. An inner mark of a low score has to be that of steps with an evaluation after every second or third: most of
 * the parts have what one has not. */
static int is_repetition(const struct gw_sequence *sequence, const struct judged *outer, const struct judged *inner,
                         bool scores_low, bool *ret_repetition)
{
    bool agreeing = false, by_silence = outer->mark.kind == GW_MARK_AFTER_GAP, piece = false;
    size_t parts = typical_parts(outer, inner, &agreeing);
    *ret_repetition = false;
    if (parts < 2 || (!inner->host && !agreeing && !by_silence) ||
        (scores_low && (!agreeing || !inner->host || parts < 3))) {
        return 0;
    }
    int status = is_piece(sequence, outer, inner, &piece);
    /* How many kernels a graph runs is not seen: a whole step of an epoch may look like few. */
    if (status || (piece && !(inner->replays && parts > PARTS_MAX))) {
        return status;
    }
    if (inner->host && (parts > PARTS_MAX || !agreeing)) {
        *ret_repetition = true;
        return 0;
    }
    struct remainder rest;
    status = find_remainder(sequence, outer, inner, agreeing ? parts : 0, GW_TRAIT_KERNEL, false, &rest);
    if (status || rest.extra > rest.uneven || rest.split > rest.extra ||
        (scores_low && rest.extra >= rest.uneven / 2)) {
        return status;
    }
    if (!inner->host && agreeing) {
        if (outer->host || by_silence) {
            return 0;
        }
        status = find_remainder(sequence, outer, inner, parts, GW_TRAIT_KERNEL, true, &rest);
        if (status || rest.extra > 0 || rest.uneven > 0) {
            return status;
        }
    }
    *ret_repetition = true;
    return 0;
}

/* The micro-steps of an accumulation: as many in each unit, alike, and with about all the kernels of the step. Of
 * several marks, the one whose parts are longest. */
static int find_micro_steps(const struct gw_sequence *sequence, const struct judged *judged, size_t count,
                            const struct judged *outer, uint32_t *ret_parts)
{
    double period = 0;
    for (size_t i = 0; i < count; i++) {
        const struct judged *inner = &judged[i];
        bool agreeing = false, piece = false;
        if (inner->score < GOOD_SHARE * outer->score || inner->period > (1 - SAME_PERIOD) * outer->period ||
            inner->period <= period) {
            continue;
        }
        size_t parts = typical_parts(outer, inner, &agreeing);
        if (parts < 2 || parts > PARTS_MAX || !agreeing) {
            continue;
        }
        int status = is_piece(sequence, outer, inner, &piece);
        if (status) {
            return status;
        }
        if (!piece) {
            period = inner->period;
            *ret_parts = (uint32_t)parts;
        }
    }
    return 0;
}

/* Whether the run ends with a whole unit: one begun elsewhere within the step leaves a piece. Final waits do not count.
 */
static bool ends_whole(const struct gw_sequence *sequence, const struct judged *judged, uint32_t *counts)
{
    const size_t *at = judged->positions + judged->count - 2;
    size_t before_end = at[1], end = sequence->count;
    while (before_end > at[0] + 1 && sequence->events[before_end - 1].op == GW_NONE) {
        before_end--;
    }
    while (end > at[1] + 1 && sequence->events[end - 1].op == GW_NONE) {
        end--;
    }
    return gw_similarity(sequence, counts, at[0], before_end, at[1], end) >= WHOLE;
}

/* Whether a mark of the same period can stand for the best one. It may score lower only by missing units at the begin
 * of the run, and may not miss others of the usual length that are like the one before them: the uploads of a loader
 * that runs ahead follow each other now and then, and none comes for the next step. (A unit unlike the one before is an
 * evaluation.) Nor may it come often before the best one's first: the uploads of a program that sets itself up are no
 * steps. */
static bool is_as_good(const struct gw_sequence *sequence, const struct judged *judged, const struct judged *best,
                       uint32_t *counts)
{
    size_t at_begin = judged->count ? first_at(best, judged->positions[0]) : 0, missed = 0;
    double least = AS_GOOD_SHARE * best->score;
    if (judged->count + at_begin >= best->count) {
        least -= fmin(FIRST_SHARE, FIRST_UNITS * best->period / (double)sequence->count);
    }
    for (size_t i = at_begin + 1; i + 1 < best->count; i++) {
        const size_t *at = best->positions + i;
        missed += parts_within(judged, at[0], at[1]) == 0 &&
                  (double)(at[1] - at[0]) * GW_UNIT_UNUSUAL >= best->period &&
                  gw_similarity(sequence, counts, at[-1], at[0], at[0], at[1]) >= ALIKE;
    }
    size_t earlier = best->count && judged->count ? first_at(judged, best->positions[0]) : 0;
    return judged->score >= least && (double)earlier <= EARLIER_SHARE * (double)best->count &&
           (double)missed <= MISSED_SHARE * (double)best->count;
}

/* Whether two marks are of the same loop: their units are as long, or those of the one hold an evaluation now and then,
 * which are units of the other: then it has to score no lower. */
static bool is_same_loop(const struct judged *judged, const struct judged *best)
{
    double more = judged->period / best->period - 1;
    return fabs(more) <= SAME_PERIOD ||
           (more > 0 && more <= EVALUATION_MOST && judged->score >= best->score && 2 * judged->count > best->count);
}

static int choose(const struct gw_sequence *sequence, struct judged *judged, size_t count, bool to_the_end,
                  uint32_t *counts, size_t *ret_chosen)
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
            if (judged[i].score < EVALUATED_SHARE * best ||
                judged[i].period > (1 - SAME_PERIOD) * judged[chosen].period ||
                (inner < count && judged[i].period <= judged[inner].period)) {
                continue;
            }
            int status =
                is_repetition(sequence, &judged[chosen], &judged[i], judged[i].score < GOOD_SHARE * best, &repetition);
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
    double top_preference = -1;
    for (size_t i = 0; i < count && chosen < count; i++) {
        if (!is_same_loop(&judged[i], &judged[chosen]) || !is_as_good(sequence, &judged[i], &judged[chosen], counts)) {
            continue;
        }
        bool whole = to_the_end && ends_whole(sequence, &judged[i], counts);
        double preference = judged[i].mark.preference + (whole ? PREFER_WHOLE_END : 0.0);
        if (preference > top_preference) {
            top = i;
            top_preference = preference;
        }
    }
    *ret_chosen = top;
    return 0;
}

int gw_period_find_within(const struct gw_sequence *sequence, size_t first, size_t last, struct gw_period *ret_period)
{
    struct gw_mark marks[MARKS_MAX];
    struct judged judged[MARKS_MAX];
    size_t count = 0, chosen = 0;
    struct judging room = {NULL, NULL, NULL};
    memset(judged, 0, sizeof(judged));
    *ret_period = (struct gw_period){0};
    if (last - first < 3) {
        return 0;
    }
    int status = gw_marks_collect(sequence, first, last, marks, MARKS_MAX, &count);
    room.counts = calloc(sequence->token_count, sizeof(*room.counts));
    room.lengths = malloc((last - first) * sizeof(*room.lengths));
    room.best = malloc((last - first) * sizeof(*room.best));
    if (status || !room.counts || !room.lengths || !room.best) {
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
        judge(sequence, first, last, &room, &judged[i]);
    }
    status = choose(sequence, judged, count, last == sequence->count, room.counts, &chosen);
    /* One operation over and over, and the host never in it: nothing tells one step from the next. Nor does what
     * only chance repeats. */
    double order = 1;
    if (!status && chosen < count) {
        status = gw_order_share(sequence, judged[chosen].positions, judged[chosen].count, &order);
    }
    if (!status && chosen < count && order >= ORDERED && (judged[chosen].period > 1.5 || judged[chosen].host)) {
        *ret_period = (struct gw_period){
            .mark = judged[chosen].mark,
            .events = judged[chosen].period,
            .confidence = fmin(1.0, judged[chosen].score) * (1.0 - 1.0 / (double)judged[chosen].count),
            .found = true,
        };
        status = find_micro_steps(sequence, judged, count, &judged[chosen], &ret_period->mark.parts);
    }
end:
    for (size_t i = 0; i < count; i++) {
        free(judged[i].positions);
    }
    free(room.counts);
    free(room.lengths);
    free(room.best);
    return status;
}
