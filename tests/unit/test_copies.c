/*
 * Copies by kind, their exposed time, rates and repeated bytes, on models made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/copies.h"
#include "tests/unit/model_fixture.h"

#define MIB 1048576u
enum { STREAM = 0, OTHER_STREAM = 1 };

/* A thread and a device with two streams; calls follow each other in microseconds. */
struct play {
    struct gw_fixture *fixture;
    uint32_t streams[2];
    uint64_t now_ns;
};

static struct play begin(void)
{
    struct play play = {.fixture = gw_fixture_create(), .now_ns = 1000};
    gw_fixture_thread(play.fixture, 7);
    gw_fixture_device(play.fixture, 0);
    for (uint32_t i = 0; i < 2; i++)
        play.streams[i] = gw_fixture_stream(play.fixture, 0, i + 1, GW_STREAM_NON_BLOCKING);
    return play;
}

static uint32_t next_call(struct play *play, const char *name)
{
    play->now_ns += 1000;
    return gw_fixture_call(play->fixture, 0, name, play->now_ns, play->now_ns + 500, 1);
}

static void copy(struct play *play, enum gw_op_kind kind, struct gw_copy copy, uint64_t start_ns, uint64_t end_ns)
{
    const uint32_t call = next_call(play, "cudaMemcpyAsync");
    const uint32_t op = gw_fixture_op(play->fixture, call, play->streams[STREAM], kind, start_ns, end_ns);
    static const uint8_t directions[] = {
        [GW_OP_H2D] = GW_COPY_H2D, [GW_OP_D2H] = GW_COPY_D2H, [GW_OP_D2D] = GW_COPY_D2D, [GW_OP_P2P] = GW_COPY_P2P};
    copy.direction = directions[kind];
    copy.stream = play->streams[STREAM];
    gw_fixture_model(play->fixture)->ops[op].size_bytes = copy.size_bytes;
    gw_fixture_copy_detail(play->fixture, call, copy);
}

static void work(struct play *play, enum gw_op_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    gw_fixture_op(play->fixture, next_call(play, "cudaLaunchKernel"), play->streams[OTHER_STREAM], kind, start_ns,
                  end_ns);
}

static void release(struct play *play, uint64_t pointer)
{
    gw_fixture_memory_detail(play->fixture, next_call(play, "cudaFree"),
                             (struct gw_memory){.ptr = pointer, .kind = GW_MEMORY_DEVICE + GW_MEMORY_FREE});
}

static struct gw_copy host(uint8_t kind, uint64_t bytes, uint64_t hash)
{
    return (struct gw_copy){
        .src_kind = kind, .dst_kind = kind, .dst = 0x1000, .src = 0x1000, .size_bytes = bytes, .hash = hash};
}

/* Sums of the only device; frees the model. */
static struct gw_copies sum_up(struct play *play, struct gw_copy_sum sums[GW_COPY_GROUP_COUNT])
{
    struct gw_model *model = gw_fixture_finish(play->fixture);
    struct gw_copies copies;
    assert_int_equal(gw_copies_init(&copies, model), 0);
    assert_int_equal(copies.devices_count, 1);
    memcpy(sums, copies.devices[0].sums, sizeof copies.devices[0].sums);
    gw_copies_release(&copies);
    copies.devices = NULL;
    gw_model_destroy(model);
    return copies;
}

static void test_groups(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    copy(&play, GW_OP_H2D, host(GW_HOST_PAGEABLE, 10, 0), 10000, 10100);
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 20, 0), 10100, 10200);
    copy(&play, GW_OP_H2D, host(GW_HOST_MANAGED, 30, 0), 10200, 10300);
    copy(&play, GW_OP_H2D, host(GW_HOST_UNKNOWN, 40, 0), 10300, 10400);
    copy(&play, GW_OP_D2H, host(GW_HOST_PAGEABLE, 50, 0), 10400, 10500);
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 60, 0), 10500, 10600);
    copy(&play, GW_OP_D2D, host(GW_HOST_NOT, 70, 0), 10600, 10700);
    copy(&play, GW_OP_P2P, host(GW_HOST_NOT, 80, 0), 10700, 10800);
    work(&play, GW_OP_MEMSET, 10800, 10900);
    work(&play, GW_OP_KERNEL, 10900, 11000);
    /* A copy within a graph: its call says nothing of it. */
    gw_fixture_op(play.fixture, next_call(&play, "cudaGraphLaunch"), play.streams[STREAM], GW_OP_D2H, 11000, 11100);
    struct gw_copies copies = sum_up(&play, sums);
    static const struct {
        enum gw_copy_group group;
        uint64_t count, bytes;
    } wanted[GW_COPY_GROUP_COUNT] = {
        {GW_COPIES_H2D_PAGEABLE, 1, 10}, {GW_COPIES_H2D_PINNED, 2, 50}, {GW_COPIES_H2D_UNKNOWN, 1, 40},
        {GW_COPIES_D2H_PAGEABLE, 1, 50}, {GW_COPIES_D2H_PINNED, 1, 60}, {GW_COPIES_D2H_UNKNOWN, 1, 0},
        {GW_COPIES_D2D, 1, 70},          {GW_COPIES_P2P, 1, 80},        {GW_COPIES_MEMSET, 1, 0}};
    assert_false(copies.by_step);
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++) {
        assert_int_equal(sums[wanted[g].group].count, wanted[g].count);
        assert_int_equal(sums[wanted[g].group].bytes, wanted[g].bytes);
        assert_int_equal(sums[wanted[g].group].ns, wanted[g].count * 100);
    }
}

static void test_exposed(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 1000, 0), 10000, 20000); /* two kernels hide 12000…15000, 18000…20000 */
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 1000, 0), 30000, 31000); /* hidden */
    copy(&play, GW_OP_D2D, host(GW_HOST_NOT, 1000, 0), 40000, 41000);    /* bare */
    work(&play, GW_OP_KERNEL, 12000, 14000);
    work(&play, GW_OP_COMM, 13000, 15000);
    work(&play, GW_OP_KERNEL, 18000, 30500);
    work(&play, GW_OP_MEMSET, 30500, 32000);
    work(&play, GW_OP_HOST, 40000, 41000); /* a host function keeps no GPU busy */
    sum_up(&play, sums);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].exposed_ns, 5000);
    assert_int_equal(sums[GW_COPIES_D2H_PINNED].exposed_ns, 0);
    assert_int_equal(sums[GW_COPIES_D2D].exposed_ns, 1000);
    assert_int_equal(sums[GW_COPIES_MEMSET].exposed_ns, 0);
}

static void test_analysed_steps_only(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    for (uint32_t step = 0; step < 4; step++) {
        const uint64_t begin_ns = play.now_ns + 1000;
        for (uint32_t i = 0; i <= step; i++)
            copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 100, 0), play.now_ns, play.now_ns + 10);
        gw_fixture_step(play.fixture, begin_ns, play.now_ns + 1000, step == 0);
    }
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 100, 0), play.now_ns, play.now_ns + 10); /* in no step */
    struct gw_copies copies = sum_up(&play, sums);
    assert_true(copies.by_step);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].count, 2 + 3 + 4);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].bytes, 900);
}

static void test_same_bytes(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 5), 10000, 10100);
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 5), 10100, 10200);   /* same */
    copy(&play, GW_OP_H2D, host(GW_HOST_PAGEABLE, 8192, 5), 10200, 10300); /* same, from elsewhere */
    release(&play, 0x1000);
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 5), 10300, 10400); /* the GPU has them no more */
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 4096, 5), 10400, 10500); /* another size */
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 0), 10500, 10600); /* not known */
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 8192, 9), 10600, 10700);
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 9), 10700, 10800); /* brought back */
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 64, 11), 10800, 10900);
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 64, 11), 10900, 11000); /* too small to mean it */
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 512, 13), 11000, 11100);
    copy(&play, GW_OP_D2H, host(GW_HOST_PINNED, 512, 13), 11100, 11200); /* same */
    sum_up(&play, sums);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].same, 1);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].same_bytes, 8192);
    assert_int_equal(sums[GW_COPIES_H2D_PAGEABLE].same, 1);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].back, 1);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].back_bytes, 8192);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].unhashed, 1);
    assert_int_equal(sums[GW_COPIES_D2H_PINNED].same, 1);
    assert_int_equal(sums[GW_COPIES_D2H_PINNED].back, 0);
}

/* A download that does not block has no hash; what is uploaded again from where it went tells what it brought. */
static void test_unhashed_round_trip(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        struct gw_copy down = host(GW_HOST_PINNED, 8192, 0), up = host(GW_HOST_PINNED, 8192, i < 3 ? 7 : 8);
        down.dst = up.src = 0x1000;
        copy(&play, GW_OP_D2H, down, 10000 + 200 * i, 10100 + 200 * i);
        copy(&play, GW_OP_H2D, up, 10100 + 200 * i, 10200 + 200 * i); /* the last one brings other bytes */
        down.dst = 0x9000;                                            /* nothing is uploaded from there */
        copy(&play, GW_OP_D2H, down, 10200 + 200 * i, 10200 + 200 * i);
    }
    sum_up(&play, sums);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].back, 2);
    assert_int_equal(sums[GW_COPIES_H2D_PINNED].same, 0);
}

/* Each of two GPUs has to be given them. */
static void test_other_device(void **state)
{
    struct play play = begin();
    struct gw_copies copies;
    (void)state;
    const uint32_t other = gw_fixture_device(play.fixture, 1), own = play.streams[STREAM];
    const uint32_t others = gw_fixture_stream(play.fixture, other, 1, GW_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2; i++) {
        play.streams[STREAM] = own;
        copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 5), 10000, 10100);
        play.streams[STREAM] = others;
        copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 8192, 5), 10000, 10100);
    }
    struct gw_model *model = gw_fixture_finish(play.fixture);
    assert_int_equal(gw_copies_init(&copies, model), 0);
    assert_int_equal(copies.devices_count, 2);
    for (size_t d = 0; d < 2; d++) {
        assert_int_equal(copies.devices[d].sums[GW_COPIES_H2D_PINNED].count, 2);
        assert_int_equal(copies.devices[d].sums[GW_COPIES_H2D_PINNED].same, 1);
    }
    gw_copies_release(&copies);
    gw_model_destroy(model);
}

static void test_rates(void **state)
{
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
    struct play play = begin();
    (void)state;
    for (uint64_t i = 0; i < 3; i++) /* 10, 20 and 40 bytes a nanosecond */
        copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, MIB, 0), 100000 * (i + 1), 100000 * (i + 1) + MIB / (10u << i));
    copy(&play, GW_OP_H2D, host(GW_HOST_PINNED, 100, 0), 500000, 500001);  /* too small */
    copy(&play, GW_OP_H2D, host(GW_HOST_MANAGED, MIB, 0), 600000, 600001); /* no link's rate */
    copy(&play, GW_OP_H2D, host(GW_HOST_PAGEABLE, MIB, 0), 700000, 700000 + MIB / 4);
    for (uint64_t i = 0; i < 20; i++) /* the fastest tenth: 18 and 19, of which the slower one counts */
        copy(&play, GW_OP_D2D, host(GW_HOST_NOT, 100000 * (i + 1), 0), 1000000 * (i + 1), 1000000 * (i + 1) + 1000);
    struct gw_copies copies = sum_up(&play, sums);
    assert_int_equal(copies.rates[GW_COPIES_H2D_PAGEABLE].source, GW_RATE_USUAL);
    assert_float_equal(copies.rates[GW_COPIES_H2D_PAGEABLE].gbps, 20, 0.01);
    assert_float_equal(copies.rates[GW_COPIES_H2D_PINNED].gbps, 20, 0.01);
    assert_float_equal(gw_copy_sum_gbps(&sums[GW_COPIES_H2D_PAGEABLE]), 4, 0.01);
    assert_int_equal(copies.rates[GW_COPIES_D2H_PINNED].source, GW_RATE_ASSUMED);
    assert_float_equal(copies.rates[GW_COPIES_D2H_PINNED].gbps, GW_PINNED_ASSUMED_GBPS, 0);
    assert_int_equal(copies.rates[GW_COPIES_D2D].source, GW_RATE_BEST);
    assert_float_equal(copies.rates[GW_COPIES_D2D].gbps, 1800, 0.5);
    assert_int_equal(copies.rates[GW_COPIES_P2P].source, GW_RATE_NONE);
    assert_int_equal(copies.rates[GW_COPIES_MEMSET].source, GW_RATE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_exposed),
        cmocka_unit_test(test_analysed_steps_only),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_unhashed_round_trip),
        cmocka_unit_test(test_other_device),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
