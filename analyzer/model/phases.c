/* Which part of a run its steps are: before the loop, compilers try their kernels, each many times over. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/sequence.h"

#define WINDOW_EVENTS 131072u /* searched at once; the mark found there is applied to the whole sequence */
#define PHASE_EVENTS_MIN 24u
#define PHASE_SHARE_MIN 1024u /* the run by this: a later phase that is shorter is not looked for */
#define UNITS_MIN 4u
#define GONE 0.2     /* share of a part in units of a phase up to which the phase is over there */
#define SURE 0.5     /* confidence that a later phase needs */
#define CHANGING 1.5 /* times the kernels of a unit that a phase runs: one thing after another is tried */

/* What the units of a mark hold, of those in a part of the sequence that are about as long as the typical one. */
struct holding {
    size_t units;
    double share;   /* of the part's events */
    double kernels; /* distinct ones in a unit: the mean */
    double all;     /* distinct ones in all of them */
    bool copies;    /* most units upload or read */
    bool replays;   /* most replay a graph: many kernels behind one event */
};

/* Numbers of the part and of the unit in which each kernel was seen last. */
struct seen {
    uint32_t *in_part, *in_unit;
};

static size_t next_mark(const struct gw_sequence *sequence, const struct gw_mark *mark, size_t at, size_t last)
{
    while (at < last && !gw_mark_matches(sequence, mark, at)) {
        at++;
    }
    return at;
}

static int find_holding(const struct gw_sequence *sequence, const struct gw_period *period, size_t first, size_t last,
                        struct holding *ret_holding)
{
    struct seen seen = {calloc(sequence->token_count + 1u, sizeof(*seen.in_part)),
                        calloc(sequence->token_count + 1u, sizeof(*seen.in_unit))};
    struct holding holding = {0};
    size_t covered = 0, kernels = 0, all = 0, with_copies = 0, with_replays = 0;
    int status = seen.in_part && seen.in_unit ? 0 : -ENOMEM;
    size_t at = status ? last : next_mark(sequence, &period->mark, first, last);
    while (at < last) {
        size_t next = next_mark(sequence, &period->mark, at + 1, last);
        double length = (double)(next - at);
        if (length * GW_UNIT_UNUSUAL >= period->events && length <= period->events * GW_UNIT_UNUSUAL) {
            uint8_t traits = 0;
            holding.units++;
            covered += next - at;
            for (size_t e = at; e < next; e++) {
                const struct gw_sequence_event *event = &sequence->events[e];
                traits |= event->traits;
                if (event->traits & GW_TRAIT_KERNEL) {
                    kernels += seen.in_unit[event->token] != holding.units;
                    all += !seen.in_part[event->token];
                    seen.in_unit[event->token] = (uint32_t)holding.units;
                    seen.in_part[event->token] = 1;
                }
            }
            with_copies += (traits & (GW_TRAIT_UPLOAD | GW_TRAIT_READ)) != 0;
            with_replays += (traits & GW_TRAIT_REPLAY) != 0;
        }
        at = next;
    }
    free(seen.in_part);
    free(seen.in_unit);
    if (!status) {
        holding.share = (double)covered / (double)(last - first);
        holding.kernels = holding.units ? (double)kernels / (double)holding.units : 0.0;
        holding.all = (double)all;
        holding.copies = with_copies * 5 >= holding.units * 4 && holding.units;
        holding.replays = with_replays * 5 >= holding.units * 4 && holding.units;
        *ret_holding = holding;
    }
    return status;
}

/* A loop that goes on to the end of the run goes before a phase that is over by then when it replays what the phase
 * warmed up and captured, or when its units run more kernels, and the phase either tries one thing after another or,
 * unlike the loop, moves no data. An evaluation or a checkpoint at the end runs fewer than a training step, or follows
 * one that stays the same. */
static bool is_loop_after(const struct holding *loop, const struct holding *phase)
{
    if (loop->units < UNITS_MIN || phase->replays) {
        return false;
    }
    bool replays_it = loop->replays && loop->units > phase->units;
    return replays_it || (loop->kernels > phase->kernels &&
                          (phase->all >= CHANGING * phase->kernels || (loop->copies && !phase->copies)));
}

int gw_period_find(const struct gw_sequence *sequence, struct gw_period *ret_period)
{
    size_t first = sequence->count > WINDOW_EVENTS ? (sequence->count - WINDOW_EVENTS) / 2 : 0;
    size_t last = sequence->count > WINDOW_EVENTS ? first + WINDOW_EVENTS : sequence->count, end = sequence->count;
    struct gw_period period, later;
    struct holding phase = {0}, rest = {0}, loop = {0};
    int status = gw_period_find_within(sequence, first, last, &period);
    bool superseded = false;
    while (end && sequence->events[end - 1].op == GW_NONE) {
        end--;
    }
    size_t size = end < 2 * WINDOW_EVENTS ? end / 2 : WINDOW_EVENTS;
    for (; size >= PHASE_EVENTS_MIN && size >= end / PHASE_SHARE_MIN && !status && !superseded && period.found;
         size /= 2) {
        status = find_holding(sequence, &period, end - size, end, &rest);
        if (status || rest.share > GONE) {
            continue;
        }
        status = find_holding(sequence, &period, first, end - size < last ? end - size : last, &phase);
        status = status ? status : gw_period_find_within(sequence, end - size, sequence->count, &later);
        if (!status && later.found && later.confidence >= SURE) {
            status = find_holding(sequence, &later, end - size, end, &loop);
            superseded = !status && is_loop_after(&loop, &phase);
        }
        if (superseded) {
            period = later;
            period.mark.from = end - size;
        }
    }
    if (!status) {
        *ret_period = period;
    }
    return status;
}
