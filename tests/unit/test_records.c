/* Packed records come back as they were, whatever they hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/read/record_layout.h"
#include "analyzer/read/records.h"

#define RECORDS 300000u

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Small, near another number, one of few, or anything. */
static uint64_t number(uint64_t *state, uint64_t near)
{
    const uint64_t random = next_random(state);
    switch (random % 5) {
    case 0:
        return random >> 56;
    case 1:
        return near + (random >> 20 & 0xfffff) - 0x7ffff;
    case 2:
        return 0x7f0000000000u + (random >> 8 & 0xf) * 0x1000;
    case 3:
        return random >> (random >> 3 & 63);
    default:
        return random >> 8 & 1 ? UINT64_MAX : random;
    }
}

static struct gw_record random_record(uint64_t *state, uint64_t now_ns)
{
    struct gw_record record = {.type = (uint32_t)(next_random(state) % GW_RECORD_COUNT)};
    record.time_ns = next_random(state) % 50 ? now_ns : number(state, now_ns);
    record.begin_ns = number(state, record.time_ns);
    record.call = number(state, (uint64_t)4711 << 42);
    record.site = number(state, 0);
    record.result = next_random(state) % 3 ? 0 : (int32_t)next_random(state);
    for (uint32_t i = 0; i < gw_record_words_of[record.type]; i++) {
        record.words[i] = number(state, record.begin_ns);
    }
    return record;
}

static void assert_same(const struct gw_record *a, const struct gw_record *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->begin_ns, b->begin_ns);
    assert_int_equal(a->call, b->call);
    assert_int_equal(a->site, b->site);
    assert_int_equal(a->result, b->result);
    assert_memory_equal(a->words, b->words, gw_record_words_of[a->type] * sizeof(uint64_t));
}

static void fill(struct gw_record_stream *stream, uint64_t seed)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        const struct gw_record record = random_record(&seed, 1000000000u + i * 300u);
        assert_int_equal(gw_record_stream_append(stream, &record, record.words, gw_record_words_of[record.type]), 0);
        if (i % 70000 == 69999) {
            gw_record_stream_close(stream);
        }
    }
}

static void what_was_packed_comes_back(void **unused)
{
    (void)unused;
    struct gw_record_stream stream = {0};
    uint64_t seed = 88172645463325252u;
    uint32_t count = 0;
    fill(&stream, seed);
    assert_true(stream.block_count > 1);
    for (size_t b = 0; b < stream.block_count; b++) {
        for (uint32_t i = 0, place = 0; i < stream.blocks[b]->count; i++, count++) {
            const struct gw_record expected = random_record(&seed, 1000000000u + count * 300u);
            struct gw_record found, again;
            const uint32_t here = place;
            place = gw_record_get(stream.blocks[b], place, &found);
            assert_true(place <= 0x10000);
            assert_same(&expected, &found);
            assert_int_equal(gw_record_get(stream.blocks[b], here, &again), place); /* by its place alone */
            assert_same(&expected, &again);
        }
    }
    assert_int_equal(count, RECORDS);
    gw_record_stream_clear(&stream);
}

static void later(void *user, struct gw_record *record)
{
    record->time_ns += *(uint64_t *)user;
}

static void records_are_rewritten(void **unused)
{
    (void)unused;
    struct gw_record_stream stream = {0};
    uint64_t seed = 42, by_ns = 123456789012u;
    uint32_t count = 0;
    fill(&stream, seed);
    assert_int_equal(gw_record_stream_rewrite(&stream, later, &by_ns), 0);
    for (size_t b = 0; b < stream.block_count; b++) {
        for (uint32_t i = 0, place = 0; i < stream.blocks[b]->count; i++, count++) {
            struct gw_record expected = random_record(&seed, 1000000000u + count * 300u), found;
            expected.time_ns += by_ns;
            place = gw_record_get(stream.blocks[b], place, &found);
            assert_same(&expected, &found);
        }
    }
    assert_int_equal(count, RECORDS);
    gw_record_stream_clear(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_packed_comes_back),
                                       cmocka_unit_test(records_are_rewritten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
