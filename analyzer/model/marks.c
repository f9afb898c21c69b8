#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/map.h"
#include "analyzer/model/sequence.h"
#include "analyzer/model/sorted.h"

#define OCCURRENCES_MIN 3u
#define SAME_PERIOD_MAX 24u /* marks kept of one period: they differ only in where the unit begins */
#define GAP_RATIO 8u        /* of the median silence between events */

/* What makes an event look like the top of a loop. */
#define PREFER_UPLOAD 0.75    /* it starts uploading the next batch */
#define PREFER_AFTER_WAIT 0.5 /* the host has just waited or read a result */
#define PREFER_SILENCE 1.0    /* times the share of the host's time that is silence before it: the next batch is made */
#define PREFER_SINCE_LAST 0.3 /* times the share since the operation before, waits included */
#define PREFERENCE_WEIGHT 0.15 /* against regularity: it decides between marks of one period */
#define WHOLE_END_WEIGHT 0.1   /* likewise, of a unit that ends where the run ends */
#define WHOLE_END_NEAR 0.1     /* of the period: a unit that ends so far from there still has a share of it */

struct rated_mark {
    struct gw_mark mark;
    double regularity;         /* 1: always the same distance, over the whole range */
    double period;             /* median distance in events */
    size_t first, last, count; /* its events: where, and how many */
};

/* Occurrences of one kind of mark, grouped: positions[first[g] … first[g + 1]). */
struct occurrences {
    struct gw_map ids;
    uint32_t *group; /* of each event, GW_NONE for none */
    struct gw_mark *marks;
};

/* The last operation before the event at `at` that is no read (a log line, a checkpoint: they come now and then),
 * GW_NO_EVENT when there is none. */
static size_t work_before(const struct gw_sequence *sequence, size_t at)
{
    while (at-- > 0) {
        if (sequence->events[at].op != GW_NONE && !(sequence->events[at].traits & GW_TRAIT_READ)) {
            return at;
        }
    }
    return GW_NO_EVENT;
}

bool gw_mark_matches(const struct gw_sequence *sequence, const struct gw_mark *mark, size_t at)
{
    const struct gw_sequence_event *event = &sequence->events[at];
    size_t before;
    if (event->op == GW_NONE) {
        return false;
    }
    switch (mark->kind) {
    case GW_MARK_TOKEN:
        return event->token == mark->a;
    case GW_MARK_LANE:
        return event->lane == mark->a;
    case GW_MARK_TOKEN_PAIR:
        before = event->token == mark->b ? work_before(sequence, at) : GW_NO_EVENT;
        return before != GW_NO_EVENT && sequence->events[before].token == mark->a;
    case GW_MARK_LANE_PAIR:
        before = event->lane == mark->b ? work_before(sequence, at) : GW_NO_EVENT;
        return before != GW_NO_EVENT && sequence->events[before].lane == mark->a;
    case GW_MARK_AFTER_WAIT:
        return at && (event[-1].traits & GW_TRAIT_SYNC) && event[-1].token == mark->a;
    case GW_MARK_AFTER_GAP:
        return event->silence_ns > mark->gap_ns;
    case GW_MARK_BATCH:
        before = work_before(sequence, at);
        return event->traits & GW_TRAIT_UPLOAD &&
               (before == GW_NO_EVENT || !(sequence->events[before].traits & GW_TRAIT_UPLOAD));
    }
    return false;
}

static bool mark_of(const struct gw_sequence *sequence, enum gw_mark_kind kind, uint64_t gap_ns, size_t at,
                    struct gw_mark *ret_mark)
{
    const struct gw_sequence_event *event = &sequence->events[at];
    struct gw_mark mark = {.kind = kind, .gap_ns = kind == GW_MARK_AFTER_GAP ? gap_ns : 0};
    if (event->op == GW_NONE) {
        return false;
    }
    size_t before = work_before(sequence, at);
    switch (kind) {
    case GW_MARK_TOKEN:
        mark.a = event->token;
        break;
    case GW_MARK_LANE:
        mark.a = event->lane;
        break;
    case GW_MARK_TOKEN_PAIR:
        mark.a = before != GW_NO_EVENT ? sequence->events[before].token : 0;
        mark.b = event->token;
        break;
    case GW_MARK_LANE_PAIR:
        mark.a = before != GW_NO_EVENT ? sequence->events[before].lane : 0;
        mark.b = event->lane;
        break;
    case GW_MARK_AFTER_WAIT:
        mark.a = at ? event[-1].token : 0;
        break;
    case GW_MARK_AFTER_GAP:
    case GW_MARK_BATCH:
        break;
    }
    *ret_mark = mark;
    return gw_mark_matches(sequence, &mark, at);
}

/* The first one is not asked: before it the program was setting up. */
static double preference(const struct gw_sequence *sequence, size_t first, const size_t *positions, size_t count)
{
    const struct gw_sequence_event *events = sequence->events + first;
    double uploads = 0, waits = 0, silence_ns = 0, since_ns = 0;
    double span_ns = (double)(events[positions[count - 1]].begin_ns - events[positions[0]].begin_ns) + 1.0;
    for (size_t i = 1; i < count; i++) {
        size_t at = positions[i] + first;
        const struct gw_sequence_event *event = &sequence->events[at];
        size_t before = at - 1;
        while (before && sequence->events[before].op == GW_NONE) {
            before--;
        }
        uploads += (event->traits & GW_TRAIT_UPLOAD) && !(sequence->events[before].traits & GW_TRAIT_UPLOAD);
        waits += before + 1 < at || (sequence->events[before].traits & GW_TRAIT_READ);
        silence_ns += (double)event->silence_ns;
        since_ns += event->begin_ns > sequence->events[before].begin_ns
                        ? (double)(event->begin_ns - sequence->events[before].begin_ns)
                        : 0.0;
    }
    return PREFER_UPLOAD * uploads / (double)(count - 1) + PREFER_AFTER_WAIT * waits / (double)(count - 1) +
           PREFER_SILENCE * fmin(1.0, silence_ns / span_ns) + PREFER_SINCE_LAST * fmin(1.0, since_ns / span_ns);
}

static void rate(const size_t *positions, size_t count, uint64_t *distances, size_t range, struct rated_mark *rated)
{
    size_t span = positions[count - 1] - positions[0];
    for (size_t i = 1; i < count; i++) {
        distances[i - 1] = positions[i] - positions[i - 1];
    }
    double median = (double)gw_upper_median_u64(distances, count - 1), off = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        off += fabs((double)distances[i] - median);
    }
    rated->period = median;
    rated->regularity = ((double)span + median) / (double)range * (1.0 - fmin(1.0, off / (double)span));
}

/* How near the last unit comes to ending with the run, were it as long as the others: 0 … 1. What the program does when
 * it is done are a few operations, and waits, which do not count. */
static double ends_with_run(const struct gw_sequence *sequence, size_t first, size_t last_position, double period)
{
    size_t end = sequence->count;
    while (end > first + last_position + 1 && sequence->events[end - 1].op == GW_NONE) {
        end--;
    }
    double off = fabs((double)(end - first - last_position) - period);
    return fmax(0.0, 1.0 - off / (WHOLE_END_NEAR * period + 2.0));
}

/* Keeps the most regular marks: at most SAME_PERIOD_MAX of about one period, at most capacity in all. Of several at the
 * same events, a token and the pair it ends, the first: the others would take the places of marks that begin elsewhere.
 */
static void keep(struct rated_mark *kept, size_t *count, size_t capacity, const struct rated_mark *candidate)
{
    size_t same = 0, worst_same = 0, worst = 0;
    for (size_t i = 0; i < *count; i++) {
        if (kept[i].first == candidate->first && kept[i].last == candidate->last && kept[i].count == candidate->count) {
            return;
        }
        if (fabs(kept[i].period - candidate->period) <= 0.02 * candidate->period) {
            worst_same = same == 0 || kept[i].regularity < kept[worst_same].regularity ? i : worst_same;
            same++;
        }
        worst = kept[i].regularity < kept[worst].regularity ? i : worst;
    }
    size_t slot = *count;
    if (same >= SAME_PERIOD_MAX) {
        slot = worst_same;
    } else if (*count == capacity) {
        slot = worst;
    }
    if (slot == *count) {
        kept[(*count)++] = *candidate;
    } else if (candidate->regularity > kept[slot].regularity) {
        kept[slot] = *candidate;
    }
}

static int group_events(const struct gw_sequence *sequence, enum gw_mark_kind kind, uint64_t gap_ns, size_t first,
                        size_t last, struct occurrences *found)
{
    for (size_t at = first; at < last; at++) {
        struct gw_mark mark;
        found->group[at - first] = GW_NONE;
        if (!mark_of(sequence, kind, gap_ns, at, &mark)) {
            continue;
        }
        const uint32_t *known = gw_map_find(&found->ids, mark.a, mark.b);
        uint32_t group = known ? *known : (uint32_t)found->ids.count;
        if (!known) {
            if (gw_map_insert(&found->ids, mark.a, mark.b, group)) {
                return -ENOMEM;
            }
            found->marks[group] = mark;
        }
        found->group[at - first] = group;
    }
    return 0;
}

static int collect_kind(const struct gw_sequence *sequence, enum gw_mark_kind kind, uint64_t gap_ns, size_t first,
                        size_t last, struct rated_mark *kept, size_t capacity, size_t *kept_count)
{
    size_t range = last - first;
    struct occurrences found = {.group = malloc(range * sizeof(*found.group)),
                                .marks = malloc(range * sizeof(*found.marks))};
    size_t *positions = malloc(2 * range * sizeof(*positions)), *starts = NULL;
    int status =
        found.group && found.marks && positions ? group_events(sequence, kind, gap_ns, first, last, &found) : -ENOMEM;
    if (status) {
        goto end;
    }
    starts = calloc(found.ids.count + 2, sizeof(*starts));
    if (!starts) {
        status = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < range; i++) {
        if (found.group[i] != GW_NONE) {
            starts[found.group[i] + 2]++;
        }
    }
    for (size_t g = 2; g < found.ids.count + 2; g++) {
        starts[g] += starts[g - 1];
    }
    for (size_t i = 0; i < range; i++) {
        if (found.group[i] != GW_NONE) {
            positions[starts[found.group[i] + 1]++] = i;
        }
    }
    for (size_t g = 0; g < found.ids.count; g++) {
        size_t occurrences = starts[g + 1] - starts[g];
        if (occurrences >= OCCURRENCES_MIN) {
            struct rated_mark rated = {.mark = found.marks[g]};
            rated.first = positions[starts[g]];
            rated.last = positions[starts[g + 1] - 1];
            rated.count = occurrences;
            rate(positions + starts[g], occurrences, positions + range, range, &rated);
            rated.mark.preference = preference(sequence, first, positions + starts[g], occurrences);
            rated.regularity += PREFERENCE_WEIGHT * rated.mark.preference;
            if (last == sequence->count) {
                rated.regularity += WHOLE_END_WEIGHT * ends_with_run(sequence, first, rated.last, rated.period);
            }
            keep(kept, kept_count, capacity, &rated);
        }
    }
end:
    gw_map_clear(&found.ids);
    free(found.group);
    free(found.marks);
    free(positions);
    free(starts);
    return status;
}

static int median_silence(const struct gw_sequence *sequence, size_t first, size_t last, uint64_t *ret_ns)
{
    uint64_t *silences = malloc((last - first) * sizeof(*silences));
    if (!silences) {
        return -ENOMEM;
    }
    for (size_t at = first; at < last; at++) {
        silences[at - first] = sequence->events[at].silence_ns;
    }
    *ret_ns = gw_upper_median_u64(silences, last - first);
    free(silences);
    return 0;
}

int gw_marks_collect(const struct gw_sequence *sequence, size_t first, size_t last, struct gw_mark *ret_marks,
                     size_t capacity, size_t *ret_count)
{
    static const enum gw_mark_kind kinds[] = {GW_MARK_TOKEN,     GW_MARK_LANE,       GW_MARK_TOKEN_PAIR,
                                              GW_MARK_LANE_PAIR, GW_MARK_AFTER_WAIT, GW_MARK_AFTER_GAP,
                                              GW_MARK_BATCH};
    uint64_t silence_ns = 0;
    size_t count = 0;
    struct rated_mark *kept = malloc(capacity * sizeof(*kept));
    int status = kept ? median_silence(sequence, first, last, &silence_ns) : -ENOMEM;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && !status; k++) {
        status = collect_kind(sequence, kinds[k], (silence_ns + 1) * GAP_RATIO, first, last, kept, capacity, &count);
    }
    for (size_t i = 0; i < count && !status; i++) {
        ret_marks[i] = kept[i].mark;
    }
    free(kept);
    if (!status) {
        *ret_count = count;
    }
    return status;
}
