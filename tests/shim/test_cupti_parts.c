// Parts of the `cupti` backend by themselves: record layouts against CUPTI's headers, the table of calls, the clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cupti.h>

#include "shim/api/codes.h"
#include "shim/timing/cupti.h"
#include "shim/timing/cupti_buffers.h"
#include "shim/timing/cupti_layouts.h"
#include "shim/tracer/tracer.h"

#if CUPTI_API_VERSION >= 130200
typedef CUpti_ActivityKernel11 kernel_record;
typedef CUpti_ActivityMemcpy6 copy_record;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 copy_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
#endif

#define SAME(ours, our_member, theirs, their_member)                                                                   \
    assert_int_equal(offsetof(ours, our_member), offsetof(theirs, their_member));                                      \
    assert_int_equal(sizeof(((ours *)0)->our_member), sizeof(((theirs *)0)->their_member))

static void layouts_are_those_of_the_headers(void **state)
{
    (void)state;
    SAME(struct gw_cupti_kernel, start, kernel_record, start);
    SAME(struct gw_cupti_kernel, end, kernel_record, end);
    SAME(struct gw_cupti_kernel, correlation, kernel_record, correlationId);
    SAME(struct gw_cupti_kernel, name, kernel_record, name);
    SAME(struct gw_cupti_kernel, node, kernel_record, graphNodeId);
    SAME(struct gw_cupti_copy, copy_kind, copy_record, copyKind);
    SAME(struct gw_cupti_copy, bytes, copy_record, bytes);
    SAME(struct gw_cupti_copy, start, copy_record, start);
    SAME(struct gw_cupti_copy, end, copy_record, end);
    SAME(struct gw_cupti_copy, correlation, copy_record, correlationId);
    SAME(struct gw_cupti_copy, node, copy_record, graphNodeId);
    SAME(struct gw_cupti_peer, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
    SAME(struct gw_cupti_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
    SAME(struct gw_cupti_peer, start, CUpti_ActivityMemcpyPtoP4, start);
    SAME(struct gw_cupti_peer, end, CUpti_ActivityMemcpyPtoP4, end);
    SAME(struct gw_cupti_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
    SAME(struct gw_cupti_peer, node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
    SAME(struct gw_cupti_set, bytes, CUpti_ActivityMemset4, bytes);
    SAME(struct gw_cupti_set, start, CUpti_ActivityMemset4, start);
    SAME(struct gw_cupti_set, end, CUpti_ActivityMemset4, end);
    SAME(struct gw_cupti_set, correlation, CUpti_ActivityMemset4, correlationId);
    SAME(struct gw_cupti_set, node, CUpti_ActivityMemset4, graphNodeId);
    SAME(struct gw_cupti_call, site, CUpti_CallbackData, callbackSite);
    SAME(struct gw_cupti_call, correlation, CUpti_CallbackData, correlationId);
    assert_int_equal(GW_CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
    assert_int_equal(GW_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(GW_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    assert_int_equal(GW_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(GW_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(GW_CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
    assert_int_equal(GW_CUPTI_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
    assert_int_equal(GW_CUPTI_ENTER, CUPTI_API_ENTER);
    assert_int_equal(GW_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    assert_int_equal(GW_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(GW_CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
}

static bool enter(uint32_t correlation, uint8_t kind, uint64_t call)
{
    const struct gw_cupti_entry entry = {.call = call, .where = GW_WHERE(1, 0, kind, 1, 0), .correlation = correlation};
    return gw_cupti_enter(&entry);
}

static void records_find_their_calls_in_order(void **state)
{
    (void)state;
    struct gw_cupti_entry found;
    assert_true(enter(7, GW_GPU_OP_MEMSET, 1));
    assert_true(enter(7, GW_GPU_OP_MEMSET, 2));
    assert_true(enter(7, GW_GPU_OP_COPY, 3));
    assert_true(enter(8, GW_GPU_OP_GRAPH, 4));
    assert_true(gw_cupti_find(7, GW_GPU_OP_COPY, &found));
    assert_int_equal(found.call, 3);
    for (uint64_t call = 1; call <= 2; call++) {
        assert_true(gw_cupti_find(7, GW_GPU_OP_MEMSET, &found));
        assert_int_equal(found.call, call);
        assert_false(found.seen);
    }
    for (int node = 0; node < 3; node++) {
        assert_true(gw_cupti_find(8, GW_GPU_OP_KERNEL, &found));
        assert_int_equal(found.call, 4);
        assert_int_equal(found.seen, node > 0);
    }
    assert_false(gw_cupti_find(9, GW_GPU_OP_KERNEL, &found));
    assert_true(enter(9, GW_GPU_OP_KERNEL, 5));
    assert_true(gw_cupti_forget(9));
    assert_false(gw_cupti_forget(9));
}

static void the_oldest_give_way_and_are_counted(void **state)
{
    (void)state;
    struct gw_cupti_entry found;
    unsigned lost = 0;
    for (uint32_t i = 0; i < 3 * GW_CUPTI_ENTRIES; i++) {
        lost += !enter(1000 + i, GW_GPU_OP_KERNEL, i + 1);
        if (i % 2)
            assert_true(gw_cupti_find(1000 + i, GW_GPU_OP_KERNEL, &found));
    }
    assert_int_equal(lost, GW_CUPTI_ENTRIES); // the unseen half of what had to go
    assert_false(gw_cupti_find(1000, GW_GPU_OP_KERNEL, &found));
    assert_true(gw_cupti_find(1000 + 3 * GW_CUPTI_ENTRIES - 2, GW_GPU_OP_KERNEL, &found));
    assert_int_equal(found.call, 3 * GW_CUPTI_ENTRIES - 1);
}

static int64_t clock_set_ns;
static int clock_error;

// Off by a constant, fast by 200 parts in a million.
static uint64_t fast_clock(uint64_t host_ns)
{
    return host_ns + host_ns / 5000 + 1700000000000000000u + (uint64_t)clock_set_ns;
}

static int get_timestamp(uint64_t *timestamp)
{
    *timestamp = fast_clock(gw_now_ns());
    return clock_error;
}

static void times_are_within_their_error(void **state)
{
    (void)state;
    const struct gw_cupti cupti = {.cuptiGetTimestamp = get_timestamp};
    uint64_t host_ns[1000], error_ns;
    assert_int_equal(gw_cupti_clock_read(&cupti), 0);
    for (int i = 0; i < 1000; i++) {
        host_ns[i] = gw_now_ns();
        if (i % 100 == 50)
            assert_int_equal(gw_cupti_clock_read(&cupti), 0);
    }
    assert_int_equal(gw_cupti_clock_read(&cupti), 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t time_ns = gw_cupti_clock_time(fast_clock(host_ns[i]), &error_ns);
        const uint64_t off_ns = time_ns > host_ns[i] ? time_ns - host_ns[i] : host_ns[i] - time_ns;
        assert_true(off_ns <= error_ns + 1); // the clock above rounds
    }
    // A reading that fails changes nothing.
    clock_error = 999;
    assert_int_equal(gw_cupti_clock_read(&cupti), 999);
    clock_error = 0;
}

static void a_clock_that_was_set_is_said(void **state)
{
    (void)state;
    const struct gw_cupti cupti = {.cuptiGetTimestamp = get_timestamp};
    uint64_t error_ns;
    assert_int_equal(gw_cupti_clock_read(&cupti), 0);
    const uint64_t before_ns = gw_now_ns();
    const uint64_t stamp = fast_clock(before_ns);
    clock_set_ns = 5000000000; // five seconds forward
    assert_int_equal(gw_cupti_clock_read(&cupti), 0);
    const uint64_t time_ns = gw_cupti_clock_time(stamp, &error_ns);
    const uint64_t off_ns = time_ns > before_ns ? time_ns - before_ns : before_ns - time_ns;
    assert_true(error_ns > 4000000000u);
    assert_true(off_ns <= error_ns);
}

static void buffers_are_bounded_and_recycled(void **state)
{
    (void)state;
    uint8_t *bytes[GW_CUPTI_BUFFERS_MAX + 1];
    size_t size, records_max;
    for (unsigned i = 0; i <= GW_CUPTI_BUFFERS_MAX; i++) {
        gw_cupti_buffer_request(&bytes[i], &size, &records_max);
        assert_true(i < GW_CUPTI_BUFFERS_MAX ? bytes[i] && size == GW_CUPTI_BUFFER_BYTES : !bytes[i]);
    }
    gw_cupti_buffer_complete(NULL, 0, bytes[3], size, 100);
    gw_cupti_buffer_complete(NULL, 0, bytes[1], size, 200);
    struct gw_cupti_buffer *taken = gw_cupti_buffers_take();
    assert_ptr_equal(taken->bytes, bytes[3]);
    assert_int_equal(taken->valid, 100);
    assert_ptr_equal(taken->next->bytes, bytes[1]);
    assert_null(taken->next->next);
    assert_null(gw_cupti_buffers_take());
    gw_cupti_buffer_free(taken->next);
    gw_cupti_buffer_request(&bytes[0], &size, &records_max);
    assert_ptr_equal(bytes[0], bytes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_those_of_the_headers),    cmocka_unit_test(records_find_their_calls_in_order),
        cmocka_unit_test(the_oldest_give_way_and_are_counted), cmocka_unit_test(times_are_within_their_error),
        cmocka_unit_test(a_clock_that_was_set_is_said),        cmocka_unit_test(buffers_are_bounded_and_recycled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
