#include "analyzer/model/order.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/map.h"

#define PAIRS_SAMPLED 32u
#define ALIKE 0.7    /* similarity of units that are compared: neighbours that are not are of different phases */
#define UNTOLD 0.9   /* a unit this similar to itself shuffled has nothing that could be in order */
#define TELLING 16.0 /* pairs of neighbouring operations, in all: fewer tell nothing */

/* One unit's events, as what follows what. */
struct unit {
    uint32_t *tokens, *streams;
    size_t count;
};

struct work {
    struct unit first, second;
    uint32_t *last;   /* by stream: token + 1 of the event before, zero between uses */
    uint32_t *counts; /* by token, zero */
    uint64_t random;
};

/* Xorshift, after Marsaglia; the same numbers in each run. */
static size_t random_below(struct work *work, size_t limit)
{
    work->random ^= work->random << 13;
    work->random ^= work->random >> 7;
    work->random ^= work->random << 17;
    return (size_t)(work->random % limit);
}

static void take_unit(const struct gw_sequence *sequence, size_t first, size_t last, struct unit *unit)
{
    unit->count = 0;
    for (size_t e = first; e < last; e++) {
        unit->tokens[unit->count] = sequence->events[e].token;
        unit->streams[unit->count++] = sequence->lane_streams[sequence->events[e].lane];
    }
}

static void shuffle(struct work *work, struct unit *unit)
{
    for (size_t i = unit->count; i > 1; i--) {
        size_t other = random_below(work, i);
        uint32_t token = unit->tokens[i - 1], stream = unit->streams[i - 1];
        unit->tokens[i - 1] = unit->tokens[other];
        unit->streams[i - 1] = unit->streams[other];
        unit->tokens[other] = token;
        unit->streams[other] = stream;
    }
}

/* Counts the pairs of events that follow each other on a stream. */
static int count_pairs(struct work *work, const struct unit *unit, struct gw_map *pairs)
{
    int status = 0;
    for (size_t i = 0; i < unit->count && !status; i++) {
        uint32_t before = work->last[unit->streams[i]];
        work->last[unit->streams[i]] = unit->tokens[i] + 1;
        uint32_t *known = before ? gw_map_find(pairs, before, unit->tokens[i]) : NULL;
        if (known) {
            ++*known;
        } else if (before) {
            status = gw_map_insert(pairs, before, unit->tokens[i], 1);
        }
    }
    for (size_t i = 0; i < unit->count; i++) {
        work->last[unit->streams[i]] = 0;
    }
    return status;
}

/* The pairs that two units have in common, and all of both: their similarity is shared / total. */
struct pairs_in_common {
    double shared, total;
};

static void add_common(const struct gw_map *first, const struct gw_map *second, struct pairs_in_common *sum)
{
    for (size_t i = 0; i < second->count; i++) {
        const struct gw_map_entry *entry = &second->entries[i];
        const uint32_t *other = gw_map_find(first, entry->a, entry->b);
        sum->total += entry->value;
        sum->shared += !other ? 0 : 2.0 * (*other < entry->value ? *other : entry->value);
    }
    for (size_t i = 0; i < first->count; i++) {
        sum->total += first->entries[i].value;
    }
}

/* What comes of comparing units in their order. */
struct order_sums {
    struct pairs_in_common real, by_chance; /* of neighbours; the second of them shuffled */
    struct pairs_in_common kept;            /* of a unit and itself shuffled */
};

static int compare(struct work *work, struct order_sums *sums)
{
    struct gw_map first = {0}, second = {0}, shuffled = {0};
    int status = count_pairs(work, &work->first, &first);
    status = status ? status : count_pairs(work, &work->second, &second);
    shuffle(work, &work->second);
    status = status ? status : count_pairs(work, &work->second, &shuffled);
    if (!status) {
        add_common(&first, &second, &sums->real);
        add_common(&first, &shuffled, &sums->by_chance);
        add_common(&second, &shuffled, &sums->kept);
    }
    gw_map_clear(&first);
    gw_map_clear(&second);
    gw_map_clear(&shuffled);
    return status;
}

static double similarity(const struct pairs_in_common *sum)
{
    return sum->total ? sum->shared / sum->total : 1;
}

static int create_work(const struct gw_sequence *sequence, size_t longest, struct work *ret_work)
{
    struct work work = {.random = 0x9e3779b97f4a7c15u};
    uint32_t **const rooms[] = {&work.first.tokens, &work.first.streams, &work.second.tokens, &work.second.streams};
    bool has_room = true;
    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
        *rooms[i] = malloc(longest * sizeof(**rooms[i]));
        has_room = has_room && *rooms[i];
    }
    work.last = calloc(sequence->stream_count, sizeof(*work.last));
    work.counts = calloc(sequence->token_count, sizeof(*work.counts));
    *ret_work = work;
    return has_room && work.last && work.counts ? 0 : -ENOMEM;
}

static void clear_work(struct work *work)
{
    free(work->first.tokens);
    free(work->first.streams);
    free(work->second.tokens);
    free(work->second.streams);
    free(work->last);
    free(work->counts);
}

int gw_order_share(const struct gw_sequence *sequence, const size_t *positions, size_t count, double *ret_share)
{
    size_t longest = 1, step = count > 2 ? (count - 2) / PAIRS_SAMPLED + 1 : 1;
    struct order_sums sums = {0};
    struct work work;
    for (size_t i = 0; i + 1 < count; i++) {
        size_t length = positions[i + 1] - positions[i];
        longest = length > longest ? length : longest;
    }
    int status = create_work(sequence, longest, &work);
    for (size_t i = 0; i + 2 < count && !status; i += step) {
        const size_t *at = positions + i;
        if (gw_similarity(sequence, work.counts, at[0], at[1], at[1], at[2]) < ALIKE) {
            continue;
        }
        take_unit(sequence, at[0], at[1], &work.first);
        take_unit(sequence, at[1], at[2], &work.second);
        status = compare(&work, &sums);
    }
    clear_work(&work);
    if (status) {
        return status;
    }
    double real = similarity(&sums.real), by_chance = similarity(&sums.by_chance);
    bool untold = sums.real.total < TELLING || similarity(&sums.kept) > UNTOLD || by_chance >= 1;
    *ret_share = untold ? 1 : (real - by_chance) / (1 - by_chance);
    return 0;
}
