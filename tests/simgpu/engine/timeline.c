#include "tests/simgpu/engine/timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Counts every user met in the window as if all were there at once: never too early, at times a little late.
static bool fits(const struct timeline *timeline, size_t from, uint64_t start_ns, uint64_t end_ns, unsigned units)
{
    unsigned used = units, users = 1;
    for (size_t i = from; i < timeline->count; i++) {
        const struct interval *other = &timeline->intervals[i];
        if (other->start_ns >= end_ns || other->end_ns <= start_ns)
            continue;
        used += other->units;
        users++;
        if (used > timeline->units || users > timeline->intervals_at_once)
            return false;
    }
    return true;
}

static void insert(struct timeline *timeline, struct interval interval)
{
    if (timeline->count == timeline->capacity) {
        if (timeline->first > timeline->capacity / 2) {
            timeline->count -= timeline->first;
            memmove(timeline->intervals, timeline->intervals + timeline->first,
                    timeline->count * sizeof *timeline->intervals);
            timeline->first = 0;
        } else {
            timeline->capacity = timeline->capacity ? 2 * timeline->capacity : 256;
            timeline->intervals = realloc(timeline->intervals, timeline->capacity * sizeof *timeline->intervals);
            if (!timeline->intervals)
                abort();
        }
    }
    size_t at = timeline->count++;
    for (; at > timeline->first && timeline->intervals[at - 1].end_ns > interval.end_ns; at--)
        timeline->intervals[at] = timeline->intervals[at - 1];
    timeline->intervals[at] = interval;
}

uint64_t timeline_reserve(struct timeline *timeline, uint64_t ready_ns, uint64_t duration_ns, unsigned units,
                          uint64_t past_ns)
{
    if (units > timeline->units)
        units = timeline->units;
    while (timeline->first < timeline->count && timeline->intervals[timeline->first].end_ns < past_ns)
        timeline->first++;
    size_t from = timeline->count;
    while (from > timeline->first && timeline->intervals[from - 1].end_ns > ready_ns)
        from--;
    uint64_t start_ns = ready_ns;
    for (size_t i = from; i < timeline->count && !fits(timeline, i, start_ns, start_ns + duration_ns, units); i++)
        start_ns = timeline->intervals[i].end_ns;
    insert(timeline, (struct interval){start_ns, start_ns + duration_ns, units});
    return start_ns;
}

void timeline_extend(struct timeline *timeline, struct interval *interval, uint64_t end_ns)
{
    for (size_t i = timeline->count; i > timeline->first; i--) {
        const struct interval *known = &timeline->intervals[i - 1];
        if (known->start_ns != interval->start_ns || known->end_ns != interval->end_ns ||
            known->units != interval->units)
            continue;
        memmove(&timeline->intervals[i - 1], &timeline->intervals[i],
                (timeline->count - i) * sizeof *timeline->intervals);
        timeline->count--;
        break;
    }
    interval->end_ns = end_ns;
    insert(timeline, *interval);
}
