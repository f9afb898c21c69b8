// Computed times of operations, as the truth log has them: streams, events, legacy joins, engines, host functions.
#include <string.h>

#include "tests/simgpu/test_support.h"

#define LATENCY_NS 2500
#define LONG_NS 20000000 // longer than a test takes to submit its work

static CUstream streams[2]; // non-blocking
static CUstream blocking;

static int start(void **state)
{
    (void)state;
    support_start("devices 2\nkernel fixed* 4321\nslowdown 1 2.5\nlaunch_latency_ns 2500\ncopy_latency_ns 1000\n"
                  "h2d_pinned_gbps 10\nd2h_pinned_gbps 5\nh2d_pageable_gbps 4\nsms 100\napi_cost_ns * 0\n"
                  "api_cost_ns cuMemGetInfo_v2 700000");
    for (int i = 0; i < 2; i++)
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    return 0;
}

static int settle(void **state)
{
    (void)state;
    OK(cuCtxSynchronize());
    return 0;
}

static void expect_after(const char *name, const char *before_name, const char *cause)
{
    const struct logged_op op = support_op(name), before = support_op(before_name);
    support_expect_after(&op, &before, cause);
}

// Nothing held it back.
static void expect_at_once(const char *name)
{
    const struct logged_op op = support_op(name);
    assert_int_equal(op.start_ns, op.submit_ns + LATENCY_NS);
    assert_string_equal(op.cause, "submit");
}

static void kernel_starts_after_launch_latency(void **state)
{
    (void)state;
    support_spin("alone", 1, 5000, streams[0]);
    const struct logged_op op = support_op("alone_spin_ns");
    assert_string_equal(op.kind, "kernel");
    assert_int_equal(op.start_ns, op.submit_ns + LATENCY_NS);
    assert_int_equal(op.end_ns, op.start_ns + 5000);
    assert_string_equal(op.cause, "submit");
}

static void kernels_of_a_stream_follow_each_other(void **state)
{
    (void)state;
    support_spin("first", 1, LONG_NS, streams[0]);
    support_spin("second", 1, 1000, streams[0]);
    expect_after("second_spin_ns", "first_spin_ns", "stream");
}

static void small_kernels_of_two_streams_overlap(void **state)
{
    (void)state;
    support_spin("left", 1, LONG_NS, streams[0]);
    support_spin("right", 1, LONG_NS, streams[1]);
    expect_at_once("left_spin_ns");
    expect_at_once("right_spin_ns");
    assert_int_not_equal(support_op("left_spin_ns").stream, support_op("right_spin_ns").stream);
}

static void full_kernels_of_two_streams_wait_for_the_engine(void **state)
{
    (void)state;
    support_spin("full1", 100 * 32, LONG_NS, streams[0]);
    support_spin("full2", 100 * 32, 1000, streams[1]);
    expect_after("full2_spin_ns", "full1_spin_ns", "engine");
}

static void event_orders_streams(void **state)
{
    (void)state;
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    support_spin("producer", 1, LONG_NS, streams[0]);
    OK(cuEventRecord(event, streams[0]));
    OK(cuStreamWaitEvent(streams[1], event, 0));
    support_spin("consumer", 1, 1000, streams[1]);
    expect_after("consumer_spin_ns", "producer_spin_ns", "event");
    OK(cuEventDestroy(event));
}

static void event_never_recorded_does_not_hold(void **state)
{
    (void)state;
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuStreamWaitEvent(streams[1], event, 0));
    support_spin("free", 1, 1000, streams[1]);
    expect_at_once("free_spin_ns");
    OK(cuEventQuery(event));
    OK(cuEventDestroy(event));
}

static void legacy_stream_joins_blocking_streams_only(void **state)
{
    (void)state;
    support_spin("before", 1, LONG_NS, blocking);
    support_spin("aside", 1, 3 * LONG_NS, streams[0]);
    support_spin("legacy", 1, LONG_NS, NULL);
    support_spin("after", 1, 1000, blocking);
    expect_after("legacy_spin_ns", "before_spin_ns", "legacy");
    assert_int_equal(support_op("legacy_spin_ns").stream, 0);
    expect_after("after_spin_ns", "legacy_spin_ns", "legacy");
    expect_at_once("aside_spin_ns");
}

static void query_of_the_legacy_stream_orders_nothing(void **state)
{
    (void)state;
    CUstream other;
    OK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    support_close_gate(blocking);
    assert_int_equal(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    support_spin("unordered", 1, 1000, other);
    expect_at_once("unordered_spin_ns");
    support_open_gate();
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    OK(cuStreamQuery(blocking));
    OK(cuStreamDestroy(other));
}

static void copies_take_one_engine_a_direction(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    void *host;
    CUdeviceptr device;
    OK(cuMemHostAlloc(&host, BYTES, 0));
    OK(cuMemAlloc(&device, 2 * BYTES));
    OK(cuMemcpyHtoDAsync(device, host, BYTES, streams[0]));
    const struct logged_op first = support_op("=h2d");
    OK(cuMemcpyHtoDAsync(device + BYTES, host, BYTES, streams[1]));
    const struct logged_op second = support_op("=h2d");
    OK(cuMemcpyDtoHAsync(host, device, BYTES / 2, NULL));
    const struct logged_op back = support_op("=d2h");
    assert_int_equal(first.bytes, BYTES);
    assert_int_equal(first.end_ns - first.start_ns, 1000 + BYTES / 10);
    assert_int_equal(back.end_ns - back.start_ns, 1000 + BYTES / 2 / 5);
    support_expect_after(&second, &first, "engine");
    OK(cuCtxSynchronize());
    OK(cuMemFreeHost(host));
    OK(cuMemFree(device));
}

static void host_function_ends_when_it_returns(void *argument)
{
    *(volatile int *)argument = 1;
}

static void host_function_holds_its_stream(void **state)
{
    (void)state;
    int done = 0;
    OK(cuLaunchHostFunc(streams[0], host_function_ends_when_it_returns, &done));
    support_spin("held", 1, 1000, streams[0]);
    OK(cuStreamSynchronize(streams[0]));
    const struct logged_op host = support_op("=host"), kernel = support_op("held_spin_ns");
    assert_int_equal(done, 1);
    support_expect_after(&kernel, &host, "host");
}

static void elapsed_time_is_the_computed_one(void **state)
{
    (void)state;
    CUevent begin, end;
    float elapsed_ms;
    OK(cuEventCreate(&begin, 0));
    OK(cuEventCreate(&end, 0));
    support_close_gate(streams[0]);
    OK(cuEventRecord(begin, streams[0]));
    support_spin("timed", 1, 1234567, streams[0]);
    OK(cuEventRecord(end, streams[0]));
    assert_int_equal(cuEventElapsedTime(&elapsed_ms, begin, end), CUDA_ERROR_NOT_READY);
    support_open_gate();
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&elapsed_ms, begin, end));
    assert_true(elapsed_ms == (float)1.234567);
    OK(cuEventDestroy(begin));
    OK(cuEventDestroy(end));
}

static void waits_return_after_the_end(void **state)
{
    (void)state;
    support_close_gate(streams[0]);
    support_spin("waited", 1, 3000000, streams[0]);
    assert_int_equal(cuStreamQuery(streams[0]), CUDA_ERROR_NOT_READY);
    support_open_gate();
    OK(cuStreamSynchronize(streams[0]));
    const struct logged_call call = support_call("cuStreamSynchronize");
    assert_true(call.end_ns >= support_op("waited_spin_ns").end_ns);
    OK(cuStreamQuery(streams[0]));
}

static void configured_durations_and_slowdown(void **state)
{
    (void)state;
    CUcontext context;
    OK(cuLaunchKernel(support_kernel("fixed_kernel"), 7, 1, 1, 64, 1, 1, 0, streams[0], NULL, NULL));
    const struct logged_op fixed = support_op("fixed_kernel");
    assert_int_equal(fixed.end_ns - fixed.start_ns, 4321);
    // 3 waves of 100 multiprocessors with 2 blocks of 1024 threads each.
    OK(cuLaunchKernel(support_kernel("plain"), 401, 1, 1, 1024, 1, 1, 0, streams[0], NULL, NULL));
    const struct logged_op plain = support_op("plain");
    assert_int_equal(plain.end_ns - plain.start_ns, 2000 + 3 * 1000);
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxPushCurrent(context));
    support_spin("slow", 1, 1000, NULL);
    assert_int_equal(support_op("slow_spin_ns").device, 1);
    assert_int_equal(support_op("slow_spin_ns").end_ns - support_op("slow_spin_ns").start_ns, 2500);
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent(&context));
}

static void api_cost_is_spent(void **state)
{
    (void)state;
    size_t free_bytes, total_bytes;
    OK(cuMemGetInfo(&free_bytes, &total_bytes));
    const struct logged_call call = support_call("cuMemGetInfo_v2");
    assert_true(call.end_ns - call.begin_ns >= 700000);
}

static void destroyed_stream_finishes_its_work(void **state)
{
    (void)state;
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    support_spin("left_behind", 1, 3000000, stream);
    OK(cuStreamDestroy(stream));
    assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
    assert_true(support_call("cuCtxSynchronize").end_ns >= support_op("left_behind_spin_ns").end_ns);
}

static void per_thread_stream_is_its_own(void **state)
{
    (void)state;
    unsigned long long legacy, own;
    OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    assert_true(legacy != own);
    support_spin("own", 1, LONG_NS, CU_STREAM_PER_THREAD);
    support_spin("legacy_after", 1, 1000, NULL);
    assert_int_equal(support_op("own_spin_ns").stream, own);
    expect_after("legacy_after_spin_ns", "own_spin_ns", "legacy");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, settle)
    const struct CMUnitTest tests[] = {
        TEST(kernel_starts_after_launch_latency),
        TEST(kernels_of_a_stream_follow_each_other),
        TEST(small_kernels_of_two_streams_overlap),
        TEST(full_kernels_of_two_streams_wait_for_the_engine),
        TEST(event_orders_streams),
        TEST(event_never_recorded_does_not_hold),
        TEST(legacy_stream_joins_blocking_streams_only),
        TEST(query_of_the_legacy_stream_orders_nothing),
        TEST(copies_take_one_engine_a_direction),
        TEST(host_function_holds_its_stream),
        TEST(elapsed_time_is_the_computed_one),
        TEST(waits_return_after_the_end),
        TEST(configured_durations_and_slowdown),
        TEST(api_cost_is_spent),
        TEST(destroyed_stream_finishes_its_work),
        TEST(per_thread_stream_is_its_own),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
