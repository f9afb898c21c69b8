#include "analyzer/model/period_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"

#define SAMPLED_UNITS 64u
#define REMAINDER_SHARE 0.7 /* of the units: this many must have the extra operations for them to count */

static int compare_sizes(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

/* Index of the first mark at or after an event. */
size_t gw_first_mark_at(const struct gw_judged *judged, size_t event)
{
    return GW_FIRST_NOT(0, judged->count, mark, judged->positions[mark] < event);
}

size_t gw_parts_within(const struct gw_judged *inner, size_t first, size_t last)
{
    return gw_first_mark_at(inner, last) - gw_first_mark_at(inner, first);
}

struct remainder_work {
    uint32_t *counts, *present, *seen_in; /* of each token within a unit: events, parts that have it, last such part */
    uint32_t *with_extra, *with_uneven;   /* units in which the token sets parts apart, and by how many events */
    double *extra, *uneven, *split;
    double owners;
};

static bool are_alike(const struct gw_sequence *sequence, const size_t *bounds, size_t parts, uint32_t *counts)
{
    for (size_t part = 1; part < parts; part++) {
        const size_t *at = bounds + part - 1;
        if (gw_similarity(sequence, counts, at[0], at[1], at[1], at[2]) < GW_UNITS_ALIKE) {
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
    uint64_t owners = 0; /* a bit each, the parts beyond counting with others */
    for (size_t e = bounds[0]; e < bounds[parts]; e++) {
        uint32_t number = NUMBER(e), count = work->counts[number], present = work->present[number];
        if (count && (sequence->events[e].traits & traits) && present < parts) {
            bool alone = present == 1, uneven = !alone && !(alike && present + 1 == parts);
            owners |= alone ? (uint64_t)1 << (work->seen_in[number] % GW_PARTS_MAX) : 0;
            work->with_extra[number] += alone;
            work->with_uneven[number] += uneven;
            work->extra[number] += alone ? count : 0;
            work->uneven[number] += !uneven ? 0 : (double)(parts - present) * count / present;
            work->split[number] += uneven && present + 1 < parts ? count : 0;
        }
        work->counts[number] = work->present[number] = work->seen_in[number] = 0;
    }
    work->owners += __builtin_popcountll(owners);
#undef NUMBER
}

/* What sets apart the parts of outer units that have `parts` of them, or of all with more than one when parts is 0. */
int gw_find_remainder(const struct gw_sequence *sequence, const struct gw_judged *outer, const struct gw_judged *inner,
                      size_t parts, uint8_t traits, bool lanes, struct gw_remainder *ret_remainder)
{
    size_t numbers = lanes ? sequence->lane_count : sequence->token_count;
    size_t units = outer->count - 1, sampled = 0, step = units / SAMPLED_UNITS + 1;
    uint32_t *integers = calloc(numbers * 5, sizeof(*integers));
    double *sums = calloc(numbers * 3, sizeof(*sums));
    int status = integers && sums ? 0 : -ENOMEM;
    struct remainder_work work = {integers,
                                  integers + numbers,
                                  integers + numbers * 2,
                                  integers + numbers * 3,
                                  integers + numbers * 4,
                                  sums,
                                  sums + numbers,
                                  sums + numbers * 2,
                                  0};
    for (size_t u = 0; u < units && !status; u += step) {
        size_t first = outer->positions[u], last = outer->positions[u + 1];
        size_t inner_first = gw_first_mark_at(inner, first), within = gw_parts_within(inner, first, last);
        bool wanted = parts ? within == parts : within > 1;
        /* From the first inner mark to that of the next outer unit: all parts are whole then. */
        if (wanted && inner_first + within < inner->count) {
            add_unit(sequence, inner->positions + inner_first, within, traits, lanes, &work);
            sampled++;
        }
    }
    struct gw_remainder remainder = {.owners = sampled ? work.owners / (double)sampled : 0};
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
int gw_is_piece(const struct gw_sequence *sequence, const struct gw_judged *outer, const struct gw_judged *inner,
                bool *ret_piece)
{
    size_t units = outer->count - 1, step = units / SAMPLED_UNITS + 1, sampled = 0, parts = 0;
    struct kinds of_units = {0}, of_parts = {0};
    struct seen seen = {calloc(sequence->token_count + 1u, sizeof(*seen.tokens)),
                        calloc(sequence->lane_count + 1u, sizeof(*seen.lanes)),
                        calloc(UINT16_MAX + 1u, sizeof(*seen.devices)), 0};
    int status = seen.tokens && seen.lanes && seen.devices ? 0 : -ENOMEM;
    for (size_t u = 0; u < units && !status; u += step) {
        size_t part = gw_first_mark_at(inner, outer->positions[u]),
               end = gw_first_mark_at(inner, outer->positions[u + 1]);
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
size_t gw_typical_parts(const struct gw_judged *outer, const struct gw_judged *inner, bool *ret_agreeing)
{
    size_t parts_of[SAMPLED_UNITS], sampled = 0, agreeing = 0, units = outer->count - 1;
    size_t step = units / SAMPLED_UNITS + 1;
    for (size_t u = 0; u < units; u += step) {
        double length = (double)(outer->positions[u + 1] - outer->positions[u]);
        if (length * GW_UNIT_UNUSUAL >= outer->period && length <= outer->period * GW_UNIT_UNUSUAL) {
            parts_of[sampled++] = gw_parts_within(inner, outer->positions[u], outer->positions[u + 1]);
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
