#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/order.h"
#include "analyzer/model/period_parts.h"

#define MARKS_MAX 128u
#define GOOD_SHARE 0.85      /* of the best score: as good as the best */
#define EVALUATED_SHARE 0.5  /* of the best score: steps of which every second or third is followed by an evaluation */
#define EVALUATION_MOST 0.25 /* of a step: longer evaluations make units of another length */
#define AS_GOOD_SHARE 0.9    /* of the best score: what another mark of the same units may have */
#define SAME_PERIOD 0.03     /* relative difference of two periods that are the same */
#define WHOLE 0.95           /* similarity of a whole unit to the one before */
#define PREFER_WHOLE_END 0.5 /* see gw_mark.preference */
#define PREFER_LATE 0.5      /* likewise, of a unit whose first update of parameters is its last operation */
#define ORDERED 0.3          /* share of a loop's order below which units are alike by chance: see gw_order_share */
#define EARLIER_SHARE 0.5    /* of the best mark's units: more marks before its first are of another phase */
#define MISSED_SHARE 0.05    /* of the best mark's units: see is_as_good */
#define UPDATED 0.55         /* of the units: so many must update parameters for each of them to be a step */
#define BESIDE_SHARE 0.7     /* of a step: kernels that only one of several has, and it is still one of them */
#define OWNERS_MOST                                                                                                    \
    1.25 /* of the steps: if more have kernels of their own, they are halves of a step of two models                   \
          */
#define LAYERS_MIN 3u
#define LAYER_KERNELS 2.5 /* of a unit, at most */
#define FIRST_UNITS 2.0   /* of a run, may lack what a mark needs: an optimizer sets itself up after its first step */
#define FIRST_SHARE 0.1   /* of the score, at most, that a mark may lose by them */

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
                  struct gw_judged *judged)
{
    size_t units = judged->count ? judged->count - 1 : 0, alike = 0, usual = 0, with_host = 0, with_replays = 0;
    size_t with_update = 0, with_uploads = 0, kernels = 0;
    double covered = 0, quality = 0, before = 0;
    for (size_t i = 0; i < units; i++) {
        const size_t *at = judged->positions + i;
        double after = i + 1 < units ? gw_similarity(sequence, room->counts, at[0], at[1], at[1], at[2]) : 0.0;
        room->best[i] = fmax(before, after);
        before = after;
        if (room->best[i] >= GW_UNITS_ALIKE) {
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
        if (room->best[i] < GW_UNITS_ALIKE || length * GW_UNIT_UNUSUAL < judged->period ||
            length > judged->period * GW_UNIT_UNUSUAL) {
            continue;
        }
        uint8_t traits = 0;
        for (size_t e = at[0]; e < at[1]; e++) {
            if (!(traits & GW_TRAIT_UPDATE) && sequence->events[e].traits & GW_TRAIT_UPDATE) {
                judged->late += (double)(e - at[0]) / length;
            }
            traits |= sequence->events[e].traits;
            kernels += (sequence->events[e].traits & GW_TRAIT_KERNEL) != 0;
        }
        with_uploads += (traits & GW_TRAIT_UPLOAD) != 0;
        with_host += (traits & GW_TRAITS_HOST) != 0;
        with_replays += (traits & GW_TRAIT_REPLAY) != 0;
        with_update += (traits & GW_TRAIT_UPDATE) != 0;
        covered += length;
        quality += room->best[i] * length;
        usual++;
    }
    judged->host = with_host * 5 >= usual * 4;
    judged->replays = with_replays * 5 >= usual * 4;
    judged->uploads = with_uploads * 5 >= usual * 4;
    judged->updated = usual ? (double)with_update / (double)usual : 0;
    judged->kernels = usual ? (double)kernels / (double)usual : 0;
    judged->late /= with_update ? (double)with_update : 1.0;
    /* The unit after the last mark has no end in the window, so it does not count against the mark. */
    double tail = fmin((double)(last - judged->positions[units]), judged->period);
    judged->score = quality / ((double)(last - first) - tail);
}

/* Whether inner units are so small, and something comes once for a number of them, that they may be a model's layers
 * whose weights are uploaded one by one, as well as steps of which some are followed by a log line. */
static int may_be_layers(const struct gw_sequence *sequence, const struct gw_judged *outer,
                         const struct gw_judged *inner, bool *ret_layers)
{
    struct gw_remainder rest;
    bool agreeing = false;
    const size_t parts = gw_typical_parts(outer, inner, &agreeing);
    *ret_layers = false;
    if (!agreeing || parts < LAYERS_MIN || parts > GW_PARTS_MAX || inner->kernels > LAYER_KERNELS || !inner->uploads ||
        inner->replays) {
        return 0;
    }
    int status = gw_find_remainder(sequence, outer, inner, parts, GW_TRAIT_KERNEL | GW_TRAIT_UPLOAD | GW_TRAIT_READ,
                                   false, &rest);
    *ret_layers = !status && rest.extra > 0;
    return status;
}

/* Whether the outer unit is nothing but several inner ones: then the inner one is the step. Operations that come once
 * for all parts (an optimizer) make the outer one the step; a log line or a checkpoint (copies, waits) does not, unless
 * the parts never meet the host, as layers do. Silences with now more, now fewer parts between them are the machine's
 * doing. An inner mark of a low score has to be that of steps with an evaluation after every second or third: most of
 * the parts have what one has not. Where the names of kernels tell which update parameters, they decide: parts that
 * each do so are steps, whatever the last of some has besides, and parts that do not are none; nor are parts that never
 * meet the host when all together have one batch. */
static int is_repetition(const struct gw_sequence *sequence, const struct gw_judged *outer,
                         const struct gw_judged *inner, bool scores_low, bool *ret_repetition)
{
    bool agreeing = false, by_silence = outer->mark.kind == GW_MARK_AFTER_GAP, piece = false, layers = false;
    size_t parts = gw_typical_parts(outer, inner, &agreeing);
    *ret_repetition = false;
    bool updated = inner->updated >= UPDATED && (inner->host || !outer->uploads) &&
                   (agreeing || (!scores_low && inner->mark.kind != GW_MARK_AFTER_GAP));
    if (parts < 2 || (outer->updated >= UPDATED && inner->updated < UPDATED) ||
        (!updated && !inner->host && !agreeing && !by_silence) ||
        (!updated && scores_low && (!agreeing || !inner->host || parts < 3))) {
        return 0;
    }
    int status = may_be_layers(sequence, outer, inner, &layers);
    /* A log line or a checkpoint comes every fifth or tenth step. */
    if (status || (layers && parts % 5 != 0)) {
        return status;
    }
    status = gw_is_piece(sequence, outer, inner, &piece);
    /* How many kernels a graph runs is not seen: a whole step of an epoch may look like few. */
    if (status || (piece && !(inner->replays && parts > GW_PARTS_MAX))) {
        return status;
    }
    struct gw_remainder rest;
    if (updated) {
        status = gw_find_remainder(sequence, outer, inner, agreeing ? parts : 0, GW_TRAIT_KERNEL, false, &rest);
        *ret_repetition = !status && rest.extra <= BESIDE_SHARE * inner->period && rest.owners <= OWNERS_MOST;
        return status;
    }
    if (inner->host && (parts > GW_PARTS_MAX || (!agreeing && by_silence))) {
        *ret_repetition = true;
        return 0;
    }
    status = gw_find_remainder(sequence, outer, inner, agreeing ? parts : 0, GW_TRAIT_KERNEL, false, &rest);
    if (status || rest.extra > rest.uneven || rest.split > rest.extra ||
        (scores_low && rest.extra >= rest.uneven / 2)) {
        return status;
    }
    if (!inner->host && agreeing) {
        if (outer->host || by_silence) {
            return 0;
        }
        status = gw_find_remainder(sequence, outer, inner, parts, GW_TRAIT_KERNEL, true, &rest);
        if (status || rest.extra > 0 || rest.uneven > 0) {
            return status;
        }
    }
    *ret_repetition = true;
    return 0;
}

/* The micro-steps of an accumulation: alike, and with about all the kernels of the step; as many in each unit, or a few
 * more or less. Of several marks, the one whose parts are longest. */
static int find_micro_steps(const struct gw_sequence *sequence, const struct gw_judged *judged, size_t count,
                            const struct gw_judged *outer, struct gw_mark *mark)
{
    double period = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gw_judged *inner = &judged[i];
        bool agreeing = false, piece = false;
        double least = inner->uploads ? EVALUATED_SHARE : GOOD_SHARE; /* the last may be unlike: it has the update */
        bool alike = inner->score >= GOOD_SHARE * outer->score;
        if (inner->score < least * outer->score || inner->period > (1 - SAME_PERIOD) * outer->period ||
            inner->period <= period) {
            continue;
        }
        size_t parts = gw_typical_parts(outer, inner, &agreeing);
        if (parts < 2 || parts > GW_PARTS_MAX || (agreeing ? !alike : !inner->uploads)) {
            continue;
        }
        int status = gw_is_piece(sequence, outer, inner, &piece);
        if (status) {
            return status;
        }
        if (!piece && alike) {
            period = inner->period;
            mark->parts = (uint32_t)parts;
            mark->varies = !agreeing;
        } else if (!agreeing) {
            mark->varies = true;
        }
    }
    return 0;
}

/* Whether the run ends with a whole unit: one begun elsewhere within the step leaves a piece. Final waits do not count.
 */
static bool ends_whole(const struct gw_sequence *sequence, const struct gw_judged *judged, uint32_t *counts)
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
static bool is_as_good(const struct gw_sequence *sequence, const struct gw_judged *judged, const struct gw_judged *best,
                       uint32_t *counts)
{
    size_t at_begin = judged->count ? gw_first_mark_at(best, judged->positions[0]) : 0, missed = 0;
    double least = AS_GOOD_SHARE * best->score;
    if (judged->count + at_begin >= best->count) {
        least -= fmin(FIRST_SHARE, fmin((double)at_begin, FIRST_UNITS) * best->period / (double)sequence->count);
    }
    for (size_t i = at_begin + 1; i + 1 < best->count; i++) {
        const size_t *at = best->positions + i;
        missed += gw_parts_within(judged, at[0], at[1]) == 0 &&
                  (double)(at[1] - at[0]) * GW_UNIT_UNUSUAL >= best->period &&
                  gw_similarity(sequence, counts, at[-1], at[0], at[0], at[1]) >= GW_UNITS_ALIKE;
    }
    size_t earlier = best->count && judged->count ? gw_first_mark_at(judged, best->positions[0]) : 0;
    return judged->score >= least && (double)earlier <= EARLIER_SHARE * (double)best->count &&
           (double)missed <= MISSED_SHARE * (double)best->count;
}

/* Whether two marks are of the same loop: their units are as long, or those of the one hold an evaluation now and then,
 * which are units of the other: then it has to score no lower. */
static bool is_same_loop(const struct gw_judged *judged, const struct gw_judged *best)
{
    double more = judged->period / best->period - 1;
    return fabs(more) <= SAME_PERIOD ||
           (more > 0 && more <= EVALUATION_MOST && judged->score >= best->score && 2 * judged->count > best->count);
}

/* Of marks that score low because their units hold now more, now fewer of the chosen ones, that of the shortest units
 * with an update of parameters in each, when the chosen ones are micro-steps that have none. */
static void go_outwards(const struct gw_judged *judged, size_t count, double best, size_t *chosen)
{
    size_t outer = count;
    for (size_t i = 0; i < count; i++) {
        bool agreeing = false;
        if (judged[i].updated >= UPDATED && judged[*chosen].updated < UPDATED &&
            judged[i].score >= EVALUATED_SHARE * best && judged[i].period > judged[*chosen].period &&
            (outer == count || judged[i].period < judged[outer].period) &&
            gw_typical_parts(&judged[i], &judged[*chosen], &agreeing) > 1) {
            outer = i;
        }
    }
    *chosen = outer < count ? outer : *chosen;
}

/* Longer units go before shorter ones, and of those about as long, the ones that are more alike. */
static bool goes_before(const struct gw_judged *judged, const struct gw_judged *other)
{
    double more = judged->period / other->period - 1;
    return more > SAME_PERIOD || (more >= -SAME_PERIOD && judged->score > other->score);
}

static int choose(const struct gw_sequence *sequence, struct gw_judged *judged, size_t count, bool to_the_end,
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
                (inner < count && !goes_before(&judged[i], &judged[inner]))) {
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
    if (chosen < count) {
        go_outwards(judged, count, best, &chosen);
    }
    /* Marks of one period differ in where the unit begins. */
    size_t top = chosen;
    double top_preference = -1;
    for (size_t i = 0; i < count && chosen < count; i++) {
        if (!is_same_loop(&judged[i], &judged[chosen]) || !is_as_good(sequence, &judged[i], &judged[chosen], counts)) {
            continue;
        }
        bool whole = to_the_end && ends_whole(sequence, &judged[i], counts);
        double preference = judged[i].mark.preference + (whole ? PREFER_WHOLE_END : 0.0) + PREFER_LATE * judged[i].late;
        if (preference > top_preference) {
            top = i;
            top_preference = preference;
        }
    }
    *ret_chosen = top;
    return 0;
}

/* Another reading of what was found that nothing but a guess speaks against: micro-steps without an update that its
 * name would tell may be steps, and layers. */
static int find_other(const struct gw_sequence *sequence, const struct gw_judged *judged, size_t count, size_t chosen,
                      struct gw_period *period)
{
    const struct gw_judged *found = &judged[chosen];
    double nearest = 0;
    for (size_t i = 0; i < count && !period->mark.updates; i++) {
        const struct gw_judged *other = &judged[i];
        const bool is_inner = other->period < (1 - SAME_PERIOD) * found->period;
        const bool is_outer = other->period > (1 + SAME_PERIOD) * found->period;
        bool agreeing = false, doubtful = false;
        if (other->score < GOOD_SHARE * found->score || !(is_inner || is_outer)) {
            continue;
        }
        int status = may_be_layers(sequence, is_inner ? found : other, is_inner ? other : found, &doubtful);
        if (status) {
            return status;
        }
        doubtful |= is_inner && other->host && period->mark.parts > 1 &&
                    gw_typical_parts(found, other, &agreeing) == period->mark.parts && agreeing;
        const double distance = is_inner ? found->period / other->period : other->period / found->period;
        if (doubtful && (!period->doubtful || distance < nearest)) {
            period->other = other->mark;
            period->doubtful = true;
            nearest = distance;
        }
    }
    return 0;
}

int gw_period_find_within(const struct gw_sequence *sequence, size_t first, size_t last, struct gw_period *ret_period)
{
    struct gw_mark marks[MARKS_MAX];
    struct gw_judged judged[MARKS_MAX];
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
        ret_period->mark.updates = judged[chosen].updated >= UPDATED;
        status = find_micro_steps(sequence, judged, count, &judged[chosen], &ret_period->mark);
        status = status ? status : find_other(sequence, judged, count, chosen, ret_period);
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
