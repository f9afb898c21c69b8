/* What was not recorded on purpose: the model builder at its edges. */
#include "tests/unit/trace_records.h"

/* Two windows, 100 to 200 and 300 to 400, of a run that went on until 500. */
static void test_windows(void **state)
{
    (void)state;
    struct trace trace;
    struct gw_run_window windows[] = {{100, 200, 0}, {300, 400, 0}};
    const uint64_t inside[GW_ARGS_thread_gap] = {[GW_ARG_thread_gap_end] = 130},
                   across[GW_ARGS_thread_gap] = {[GW_ARG_thread_gap_end] = 310};
    begin_trace(&trace);
    trace.run.windowed = true;
    trace.run.windows = windows;
    trace.run.window_count = 2;
    trace.run.end_monotonic_ns = 500;
    add_stream(&trace, 10, 0, STREAM, 1);
    add_launch(&trace, 1, 110, 120, 1);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_KERNEL, 150, 160);
    add_gap(&trace, 1, 105, inside);
    add_begin(&trace, 2, "cudaDeviceSynchronize", 190);
    add_gap(&trace, 3, 180, across);
    add_launch(&trace, 3, 310, 320, 1);
    add_gpu_op(&trace, 3, 0, GW_GPU_OP_KERNEL, 315, 380);
    add_begin(&trace, 4, "cudaDeviceSynchronize", 390);
    add_stream(&trace, 490, 0, STREAM + 1, 2);
    const struct gw_model *model = build(&trace);
    static const uint64_t expected[][2] = {{10, 150}, {200, 315}, {400, 490}};
    assert_int_equal(model->losses_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(model->losses[i].reason, GW_LOSS_OUTSIDE);
        assert_int_equal(model->losses[i].begin_ns, expected[i][0]);
        /* Until the first operation that was seen starts, the device may work on what was enqueued before. */
        assert_int_equal(model->losses[i].end_ns, expected[i][1]);
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        if (model->calls[i].begin_ns == 190 || model->calls[i].begin_ns == 390) {
            assert_int_equal(model->calls[i].flags, GW_CALL_END_LOST);
            assert_int_equal(model->calls[i].end_ns, model->calls[i].begin_ns + 10);
        }
    }
    assert_int_equal(model->thread_gaps_count, 1);
    assert_int_equal(model->thread_gaps[0].begin_ns, 105);
    assert_int_equal(model->timing, GW_TIMING_EVENTS);
    end_trace(&trace);
}

/* A recording that ended with the program: a call that had not ended then never returned. */
static void test_last_window_open(void **state)
{
    (void)state;
    struct trace trace;
    struct gw_run_window windows[] = {{100, 501, 0}};
    begin_trace(&trace);
    trace.run.windowed = true;
    trace.run.windows = windows;
    trace.run.window_count = 1;
    trace.run.end_monotonic_ns = 500;
    add_call(&trace, 1, "cudaGetDevice", 1, 110, 120, 0);
    add_begin(&trace, 2, "cudaDeviceSynchronize", 190);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls[1].flags, GW_CALL_NO_END);
    assert_int_equal(model->losses_count, 0);
    end_trace(&trace);
}

static void test_steps_outside_windows(void **state)
{
    (void)state;
    struct trace trace;
    struct gw_run_window windows[] = {{0, 4500, 0}, {6500, 100000, 0}};
    begin_trace(&trace);
    trace.run.windowed = true;
    trace.run.windows = windows;
    trace.run.window_count = 2;
    add_stream(&trace, 1, 0, STREAM, 1);
    add_function(&trace, 2, "step");
    for (uint64_t i = 0; i < 12; i++) {
        add_launch(&trace, i + 1, 1000 * (i + 1), 1000 * (i + 1) + 10, 1);
        add_gpu_op(&trace, i + 1, 0, GW_GPU_OP_KERNEL, 1000 * (i + 1) + 20, 1000 * (i + 1) + 500);
    }
    const struct gw_model_options options = {.step_regex = "step"};
    struct gw_error error = {""};
    const struct gw_model_input input = {.run = &trace.run, .records = &trace.records};
    assert_int_equal(gw_model_build_from_records("run", &input, 1, &options, &trace.model, &error), 0);
    const struct gw_model *model = trace.model;
    assert_int_equal(model->steps_count, 8);
    for (uint32_t i = 0; i < model->steps_count; i++) {
        assert_int_equal(model->steps[i].number, i);
        assert_true(model->steps[i].end_ns <= 4500 || model->steps[i].begin_ns >= 6500);
    }
    end_trace(&trace);
}

/* The ring of one CPU goes back to 100 only, that of another has everything. */
static void test_let_go(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_begin(&trace, 1, "cudaDeviceSynchronize", 50);
    add_launch(&trace, 2, 110, 120, 1);
    add_gpu_op(&trace, 2, 0, GW_GPU_OP_KERNEL, 130, 180);
    assert_int_equal(gw_record_stream_add_let_go(&trace.streams[0], 100), 0);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->losses_count, 1);
    assert_int_equal(model->losses[0].reason, GW_LOSS_LET_GO);
    assert_int_equal(model->losses[0].begin_ns, 10);
    assert_int_equal(model->losses[0].end_ns, 130);
    assert_int_equal(model->calls[0].flags, GW_CALL_END_LOST);
    end_trace(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_last_window_open),
        cmocka_unit_test(test_steps_outside_windows),
        cmocka_unit_test(test_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
