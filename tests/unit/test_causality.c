/* The check of times against the host's calls, on models made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/model/causality.h"

/* One process with one thread, one device and one stream: two launches and a synchronisation of the stream. */
struct small {
    struct gw_model model;
    struct gw_process process;
    struct gw_thread thread;
    struct gw_device device;
    struct gw_stream stream;
    struct gw_call calls[3];
    struct gw_op ops[2];
    uint32_t stream_ops[2];
    struct gw_order order;
};

static void make(struct small *small)
{
    *small = (struct small){
        .stream = {.op_count = 2},
        .calls = {{.begin_ns = 100, .end_ns = 110, .detail = GW_NONE},
                  {.begin_ns = 200, .end_ns = 210, .detail = GW_NONE},
                  {.begin_ns = 300, .end_ns = 1000, .detail_kind = GW_DETAIL_ORDER}},
        .ops = {{.start_ns = 150, .end_ns = 500, .error_ns = 5},
                {.start_ns = 500, .end_ns = 900, .call = 1, .error_ns = 5}},
        .stream_ops = {0, 1},
        .order = {.what = GW_ORDER_STREAM_SYNC},
    };
    small->model = (struct gw_model){
        .processes = &small->process,
        .processes_count = 1,
        .threads = &small->thread,
        .threads_count = 1,
        .devices = &small->device,
        .devices_count = 1,
        .streams = &small->stream,
        .streams_count = 1,
        .calls = small->calls,
        .calls_count = 3,
        .ops = small->ops,
        .ops_count = 2,
        .stream_ops = small->stream_ops,
        .stream_ops_count = 2,
        .orders = &small->order,
        .orders_count = 1,
    };
}

static void expect(const struct small *small, uint64_t before_launch, uint64_t overlapping, uint64_t after_wait,
                   uint64_t off_ns)
{
    struct gw_causality causality;
    gw_model_check_causality(&small->model, &causality);
    assert_int_equal(causality.before_launch, before_launch);
    assert_int_equal(causality.overlapping, overlapping);
    assert_int_equal(causality.after_wait, after_wait);
    assert_int_equal(causality.clock_off_ns, off_ns);
}

static void test_right_times_agree(void **state)
{
    (void)state;
    struct small small;
    struct gw_causality causality;
    make(&small);
    expect(&small, 0, 0, 0, 0);
    gw_model_check_causality(&small.model, &causality);
    assert_int_equal(causality.checked, 2);
}

static void test_early_starts_count_beyond_their_error(void **state)
{
    (void)state;
    struct small small;
    make(&small);
    small.ops[0].start_ns = 95;
    expect(&small, 0, 0, 0, 0);
    small.ops[0].start_ns = 60;
    expect(&small, 1, 0, 0, 35);
}

static void test_overlaps_count_but_within_a_replay(void **state)
{
    (void)state;
    struct small small;
    make(&small);
    small.ops[1].start_ns = 490;
    expect(&small, 0, 0, 0, 0);
    small.ops[1].start_ns = 400;
    expect(&small, 0, 1, 0, 90);
    small.calls[0].end_ns = 205; /* another thread's, still going on */
    expect(&small, 0, 0, 0, 0);
    small.calls[0].end_ns = 110;
    small.ops[1].call = 0; /* nodes of one launch */
    expect(&small, 0, 0, 0, 0);
}

static void test_waits_that_return_too_early_count(void **state)
{
    (void)state;
    struct small small;
    make(&small);
    small.ops[1].end_ns = 1025;
    expect(&small, 0, 0, 1, 20);
    small.order.what = GW_ORDER_DEVICE_SYNC;
    expect(&small, 0, 0, 1, 20);
    small.calls[2].result = 1;
    expect(&small, 0, 0, 0, 0);
    small.calls[2].result = 0;
    small.calls[1].end_ns = 400; /* enqueued while the wait was going on */
    expect(&small, 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_times_agree),
        cmocka_unit_test(test_early_starts_count_beyond_their_error),
        cmocka_unit_test(test_overlaps_count_but_within_a_replay),
        cmocka_unit_test(test_waits_that_return_too_early_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
