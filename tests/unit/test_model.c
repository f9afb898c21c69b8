/* The model builder, fed with records made in memory. */
#include "analyzer/model/steps.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/trace_records.h"

static void test_nested_launch(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 3);
    add_function(&trace, 20, "_Z3addPf");
    add_launch(&trace, 1, 110, 120, 1);
    add_call(&trace, 1, "cudaLaunchKernel", 1, 100, 130, 0);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_KERNEL, 125, 400);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls_count, 2);
    assert_string_equal(gw_function_name(model->calls[0].function), "cudaLaunchKernel");
    assert_int_equal(model->calls[0].depth, 1);
    assert_int_equal(model->calls[1].depth, 2);
    assert_int_equal(model->calls[1].detail_kind, GW_DETAIL_LAUNCH);
    const struct gw_launch *launch = &model->launches[model->calls[1].detail];
    assert_int_equal(launch->grid[0], 70000);
    assert_int_equal(launch->grid[1], 3);
    assert_int_equal(launch->grid[2], 2);
    assert_int_equal(launch->block[0], 8);
    assert_int_equal(launch->block[1], 1000);
    assert_int_equal(launch->block[2], 4);
    assert_int_equal(launch->shared_bytes, 512);
    assert_int_equal(model->ops_count, 1);
    assert_int_equal(model->ops[0].call, 1);
    assert_int_equal(model->ops[0].outer_call, 0);
    assert_int_equal(model->ops[0].start_ns, 125);
    assert_int_equal(model->ops[0].end_ns, 400);
    assert_int_equal(model->ops[0].error_ns, 150);
    assert_int_equal(model->ops[0].flags, GW_OP_START_SHARED);
    assert_string_equal(model->names[model->ops[0].name], "_Z3addPf");
    assert_int_equal(model->streams[model->ops[0].stream].number, 3);
    assert_int_equal(model->threads[0].call_count, 2);
    assert_int_equal(model->processes[0].op_count, 1);
    assert_int_equal(model->run.begin_ns, 10);
    end_trace(&trace);
}

static void test_same_begin_outer_first(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_launch(&trace, 1, 100, 120, 1);
    add_call(&trace, 1, "cudaLaunchKernel", 1, 100, 130, 0);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls[0].depth, 1);
    assert_int_equal(model->ops[0].outer_call, 0);
    end_trace(&trace);
}

static void test_untimed_and_captured(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_launch(&trace, 1, 100, 110, 1);
    add_launch(&trace, 2, 120, 130, 1 | GW_SITE_CAPTURED);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->ops_count, 1);
    assert_int_equal(model->ops[0].flags, GW_OP_UNTIMED);
    assert_true(model->ops[0].start_ns == GW_TIME_UNKNOWN);
    assert_int_equal(model->ops[0].name, GW_NONE);
    assert_int_equal(model->calls[1].flags, GW_CALL_CAPTURED);
    end_trace(&trace);
}

static void test_copy(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_copy(&trace, 1, 100, 150, STREAM);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_COPY, 110, 140);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->ops[0].kind, GW_OP_H2D);
    assert_int_equal(model->ops[0].size_bytes, 4096);
    assert_int_equal(model->copies[0].src_kind, GW_HOST_PAGEABLE);
    assert_true(model->copies[0].blocking);
    assert_int_equal(gw_call_class(model->calls[0].function), GW_CALL_COPY);
    end_trace(&trace);
}

static void test_call_that_never_returned(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_begin(&trace, 1, "cudaStreamSynchronize", 100);
    add_call(&trace, 1, "cudaStreamSynchronize", 1, 100, 200, GW_SITE_HAS_BEGIN);
    add_begin(&trace, 2, "cudaDeviceSynchronize", 300);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls_count, 2);
    assert_int_equal(model->calls[0].flags, 0);
    assert_int_equal(model->calls[1].flags, GW_CALL_NO_END);
    assert_int_equal(model->calls[1].begin_ns, 300);
    assert_int_equal(model->calls[1].end_ns, model->run.end_ns);
    end_trace(&trace);
}

static void test_end_that_was_lost(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_begin(&trace, 1, "cudaStreamSynchronize", 100);
    add_call(&trace, 2, "cudaGetDevice", 1, 250, 260, 0);
    add_call(&trace, 3, "cudaFree", 1, 270, 280, GW_SITE_HAS_BEGIN);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls[0].flags, GW_CALL_END_LOST);
    assert_int_equal(model->calls[0].end_ns, 250);
    assert_int_equal(model->calls[2].flags, GW_CALL_NO_BEGIN);
    end_trace(&trace);
}

static void test_operation_whose_call_was_lost(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_launch(&trace, 1, 100, 110, 1);
    add_launch(&trace, 3, 300, 310, 1);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_KERNEL, 120, 150);
    add_gpu_op(&trace, 2, 0, GW_GPU_OP_MEMSET, 200, 250);
    add_gpu_op(&trace, 4, 0, GW_GPU_OP_COPY, 360, 380);
    add_gpu_op(&trace, 3, 0, GW_GPU_OP_KERNEL, 320, 350);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->ops_count, 4);
    assert_int_equal(model->ops[3].kind, GW_OP_D2D);
    assert_int_equal(model->ops[1].kind, GW_OP_MEMSET);
    assert_true(model->ops[1].flags & GW_OP_NO_CALL);
    assert_int_equal(model->ops[1].call, GW_NONE);
    assert_int_equal(model->ops[1].start_ns, 200);
    assert_int_equal(model->streams[model->ops[1].stream].op_count, 4);
    end_trace(&trace);
}

static void test_handle_used_again(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_function(&trace, 20, "first");
    add_launch(&trace, 1, 100, 110, 1);
    add_stream(&trace, 200, 0, STREAM, 2);
    add_function(&trace, 210, "second");
    add_launch(&trace, 2, 300, 310, 1);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->streams[model->ops[0].stream].number, 1);
    assert_int_equal(model->streams[model->ops[1].stream].number, 2);
    assert_string_equal(model->names[model->ops[0].name], "first");
    assert_string_equal(model->names[model->ops[1].name], "second");
    end_trace(&trace);
}

/* Times on a device that a process with others never announced are damage: no device, and a loss. */
static void test_times_on_no_device(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_device(&trace, 10, 0);
    add_stream(&trace, 11, 0, 0, 0);
    add_copy(&trace, 1, 100, 110, 0);
    add_copy(&trace, 2, 200, 210, 0);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_COPY, 105, 140);
    add_gpu_op(&trace, 2, 188, GW_GPU_OP_COPY, 205, 240);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->devices_count, 1);
    assert_int_equal(model->ops_count, 2);
    assert_true(model->ops[1].flags & GW_OP_UNTIMED);
    assert_int_equal(model->losses_count, 1);
    end_trace(&trace);
}

static void test_default_stream_of_two_devices(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, 0, 0);
    add_stream(&trace, 11, 1, 0, 0);
    add_copy(&trace, 1, 100, 110, 0);
    add_copy(&trace, 2, 200, 210, 0);
    add_gpu_op(&trace, 1, 0, GW_GPU_OP_COPY, 105, 140);
    add_gpu_op(&trace, 2, 1, GW_GPU_OP_COPY, 205, 240);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->devices[model->streams[model->ops[0].stream].device].number, 0);
    assert_int_equal(model->devices[model->streams[model->ops[1].stream].device].number, 1);
    assert_int_equal(model->copies[1].stream, model->ops[1].stream);
    end_trace(&trace);
}

/* As a program does that makes a stream for each piece of work, or a trace that is damaged: quadratic time would not
 * end. */
static void test_very_many_streams(void **state)
{
    (void)state;
    const uint64_t count = 300000;
    struct trace trace;
    begin_trace(&trace);
    for (uint64_t i = 1; i <= count; i++) {
        add_copy(&trace, i, 100 * i, 100 * i + 50, i << 12);
    }
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->ops_count, count);
    assert_int_equal(model->streams_count, count);
    assert_int_equal(model->streams[model->ops[count - 1].stream].number, count);
    end_trace(&trace);
}

static void test_communication_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t kind;
    } kernels[] = {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", GW_OP_COMM},
                   {"all_reduce_start_fusion_1", GW_OP_COMM},
                   {"_ZN4vllm26cross_device_reduce_1stageI6__halfLi2EEEvPNS_8RankDataENS_11RankSignalsE", GW_OP_COMM},
                   {"reduce_fusion", GW_OP_KERNEL}};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct trace trace;
        begin_trace(&trace);
        add_function(&trace, 20, kernels[i].name);
        add_launch(&trace, 1, 100, 110, 1);
        assert_int_equal(build(&trace)->ops[0].kind, kernels[i].kind);
        end_trace(&trace);
    }
}

static void test_thread_gap_and_loss(void **state)
{
    (void)state;
    struct trace trace;
    const uint64_t words[GW_ARGS_thread_gap] = {190, 30, 2ull | 1ull << 32, 5ull | 6ull << 32};
    begin_trace(&trace);
    add_call(&trace, 1, "cudaGetDevice", 1, 50, 90, 0);
    add(&trace, 0,
        (struct gw_record){.type = GW_RECORD_thread_gap, .time_ns = 200, .begin_ns = 90, .call = GW_CALL_ID(TID, 2)},
        words, GW_ARGS_thread_gap);
    assert_int_equal(gw_record_stream_add_loss(&trace.streams[0], 60, 80, 7), 0);
    assert_int_equal(gw_record_stream_add_loss(&trace.streams[1], 100, UINT64_MAX, 0), 0);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->thread_gaps_count, 1);
    assert_int_equal(model->thread_gaps[0].end_ns, 190);
    assert_int_equal(model->thread_gaps[0].cpu_ns, 30);
    assert_int_equal(model->thread_gaps[0].voluntary_switches, 2);
    assert_int_equal(model->thread_gaps[0].involuntary_switches, 1);
    assert_int_equal(model->thread_gaps[0].major_faults, 6);
    assert_int_equal(model->losses_count, 2);
    assert_int_equal(model->losses[0].count, 7);
    assert_int_equal(model->losses[1].end_ns, model->run.end_ns);
    assert_int_equal(model->run.discarded_events, 7);
    end_trace(&trace);
}

static void test_counters_that_wrap(void **state)
{
    (void)state;
    struct gw_record_stream stream = {0};
    assert_int_equal(gw_record_stream_add_loss(&stream, 0, 10, 100), 0);
    assert_int_equal(gw_record_stream_add_loss(&stream, 10, 20, 5), 0);
    assert_int_equal(gw_record_stream_add_loss(&stream, 20, 30, -30), 0);
    assert_int_equal(stream.loss_count, 2);
    assert_int_equal(stream.losses[0].count, 75);
    assert_int_equal(stream.losses[1].count, 0);
    gw_record_stream_clear(&stream);
}

static void test_functions_of_another_build(void **state)
{
    (void)state;
    static char name[] = "cudaStreamSynchronize", unknown[] = "cudaNobodyKnows";
    char *functions[] = {unknown, name};
    struct trace trace;
    begin_trace(&trace);
    trace.run.functions = functions;
    trace.run.function_count = 2;
    for (unsigned id = 0; id < 3; id++) {
        add(&trace, 0,
            (struct gw_record){.type = GW_RECORD_call,
                               .time_ns = 10 * id + 5,
                               .begin_ns = 10 * id,
                               .call = GW_CALL_ID(TID, id + 1),
                               .site = GW_SITE(PID, id, 1, 0)},
            NULL, 0);
    }
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls[0].function, GW_FUNCTION_NONE);
    assert_string_equal(gw_function_name(model->calls[1].function), name);
    assert_int_equal(model->calls[2].function, GW_FUNCTION_NONE);
    end_trace(&trace);
}

static void test_two_ranks(void **state)
{
    (void)state;
    struct trace traces[2];
    struct gw_model_input inputs[2];
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    for (int i = 0; i < 2; i++) {
        begin_trace(&traces[i]);
        add_stream(&traces[i], 10, 0, STREAM, 1);
        add_launch(&traces[i], 1, 100 + (uint64_t)i, 110, 1);
        add_gpu_op(&traces[i], 1, 0, GW_GPU_OP_KERNEL, 200 + (uint64_t)i, 300);
        inputs[i] = (struct gw_model_input){.run = &traces[i].run, .records = &traces[i].records};
    }
    assert_int_equal(gw_model_build_from_records("run", inputs, 2, NULL, &model, &error), 0);
    assert_int_equal(model->processes_count, 2);
    assert_int_equal(model->devices_count, 2);
    assert_int_equal(model->ops_count, 2);
    assert_int_equal(model->ops[0].start_ns, 200);
    assert_int_equal(model->ops[1].start_ns, 201);
    assert_int_equal(model->processes[1].op_count, 1);
    gw_model_destroy(model);
    end_trace(&traces[0]);
    end_trace(&traces[1]);
}

/* Two hosts may give the same numbers to a process, its thread and its calls. */
static void test_calls_of_the_same_number_on_two_hosts(void **state)
{
    (void)state;
    struct trace traces[2];
    struct gw_model_input inputs[2];
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    for (int i = 0; i < 2; i++) {
        begin_trace(&traces[i]);
        add_begin(&traces[i], 1, "cudaDeviceSynchronize", 100);
        if (i == 0)
            add_call(&traces[i], 1, "cudaDeviceSynchronize", 1, 100, 200, GW_SITE_HAS_BEGIN);
        inputs[i] = (struct gw_model_input){.run = &traces[i].run, .records = &traces[i].records};
    }
    assert_int_equal(gw_model_build_from_records("run", inputs, 2, NULL, &model, &error), 0);
    assert_int_equal(model->calls_count, 2);
    size_t unfinished = 0;
    for (size_t i = 0; i < model->calls_count; i++)
        unfinished += (model->calls[i].flags & GW_CALL_NO_END) != 0;
    assert_int_equal(unfinished, 1);
    gw_model_destroy(model);
    end_trace(&traces[0]);
    end_trace(&traces[1]);
}

static void test_nothing_recorded(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls_count, 0);
    assert_int_equal(model->steps_count, 0);
    assert_null(model->steps_method);
    assert_int_equal(model->run.begin_ns, 0);
    end_trace(&trace);
}

/* Ten steps recorded; their begins are those of the outermost calls. */
static void test_steps_from_records(void **state)
{
    (void)state;
    struct trace trace;
    uint64_t now_ns = 1000, sequence = 0, begins[10];
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_function(&trace, 20, "kernel");
    for (int step = 0; step < 10; step++) {
        begins[step] = now_ns;
        add_copy(&trace, ++sequence, now_ns, now_ns + 10, STREAM);
        for (int k = 0; k < 3; k++) {
            now_ns += 50;
            add_launch(&trace, ++sequence, now_ns + 5, now_ns + 10, 1);
            add_call(&trace, sequence, "cudaLaunchKernel", 1, now_ns, now_ns + 20, 0);
        }
        now_ns += 50;
        add_begin(&trace, ++sequence, "cudaDeviceSynchronize", now_ns);
        add_call(&trace, sequence, "cudaDeviceSynchronize", 1, now_ns, now_ns + 200, GW_SITE_HAS_BEGIN);
        now_ns += 300;
    }
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->steps_count, 10);
    assert_string_equal(model->steps_method, "sequence");
    for (int step = 0; step < 10; step++) {
        assert_int_equal(model->steps[step].begin_ns, begins[step]);
        assert_int_equal(model->steps[step].op_count, 4);
        assert_int_equal(model->steps[step].first_op, 4 * step);
        assert_int_equal(model->steps[step].warmup, step == 0);
    }
    assert_int_equal(model->steps[9].end_ns, now_ns - 100);
    end_trace(&trace);
}

static void test_steps_by_name(void **state)
{
    (void)state;
    struct trace trace;
    struct gw_error error = {""};
    struct gw_model *model = NULL;
    begin_trace(&trace);
    add_function(&trace, 20, "_Z4stepIfEvPT_");
    for (uint64_t i = 1; i <= 6; i++) {
        add_launch(&trace, i, 100 * i, 100 * i + 10, 1);
    }
    const struct gw_model_input input = {.run = &trace.run, .records = &trace.records};
    struct gw_model_options options = {.step_regex = "^step<", .step_every = 2};
    assert_int_equal(gw_model_build_from_records("run", &input, 1, &options, &model, &error), 0);
    assert_int_equal(model->steps_count, 3);
    assert_int_equal(model->steps[1].begin_ns, 300);
    assert_string_equal(model->steps_method, "regex");
    gw_model_destroy(model);
    options.step_regex = "nothing";
    assert_true(gw_model_build_from_records("run", &input, 1, &options, &model, &error) < 0);
    assert_string_equal(error.text, "no kernel and no NVTX range of the run matches 'nothing'");
    options.step_regex = "(";
    assert_true(gw_model_build_from_records("run", &input, 1, &options, &model, &error) < 0);
    end_trace(&trace);
}

/* As a damaged trace may say: every length is a difference of the two. */
static void test_ends_before_their_begins(void **state)
{
    (void)state;
    struct trace trace;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_call(&trace, 1, "cudaGetDevice", 1, 100, 90, 0);
    add_launch(&trace, 2, 200, 210, 1);
    add_gpu_op(&trace, 2, 0, GW_GPU_OP_KERNEL, 300, 250);
    const uint64_t gap[GW_ARGS_thread_gap] = {[GW_ARG_thread_gap_end] = 310};
    add(&trace, 0,
        (struct gw_record){.type = GW_RECORD_thread_gap, .time_ns = 330, .begin_ns = 320, .call = GW_CALL_ID(TID, 3)},
        gap, GW_ARGS_thread_gap);
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->calls[0].begin_ns, 100);
    assert_int_equal(model->calls[0].end_ns, 100);
    assert_int_equal(model->ops[0].start_ns, 300);
    assert_int_equal(model->ops[0].end_ns, 300);
    assert_int_equal(model->thread_gaps[0].begin_ns, 320);
    assert_int_equal(model->thread_gaps[0].end_ns, 320);
    end_trace(&trace);
}

/* A step is one graph launch, in which the same two kernels alternate: it is not their period. */
static void test_steps_of_graph_launches(void **state)
{
    (void)state;
    enum { LAUNCHES = 30, NODES = 12 };
    struct gw_fixture *fixture = gw_fixture_create();
    uint32_t thread = gw_fixture_thread(fixture, 1), device = gw_fixture_device(fixture, 0);
    uint32_t stream = gw_fixture_stream(fixture, device, 1, 0);
    uint64_t device_ns = 110000;
    for (uint64_t i = 0; i < 4; i++) { /* warm-up without the graph */
        uint32_t call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", i * 20000, i * 20000 + 5000, 1);
        uint32_t op = gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, i * 20000 + 10000, i * 20000 + 15000);
        gw_fixture_op_name(fixture, op, i % 2 ? "_Z4evenv" : "_Z3oddv");
    }
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        uint64_t begin_ns = 100000 + i * 20000;
        uint32_t call = gw_fixture_call(fixture, thread, "cudaGraphLaunch", begin_ns, begin_ns + 5000, 1);
        for (uint32_t n = 0; n < NODES; n++, device_ns += 50000) {
            uint32_t op = gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, device_ns, device_ns + 50000);
            gw_fixture_op_name(fixture, op, n % 2 ? "_Z4evenv" : "_Z3oddv");
            gw_fixture_model(fixture)->ops[op].graph_node = n;
        }
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_steps_by_sequence(model), 0);
    assert_in_range(model->steps_count, LAUNCHES - 1, LAUNCHES);
    for (size_t s = 0; s < model->steps_count; s++)
        assert_int_equal(model->steps[s].op_count, NODES);
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_launch),
        cmocka_unit_test(test_same_begin_outer_first),
        cmocka_unit_test(test_untimed_and_captured),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_call_that_never_returned),
        cmocka_unit_test(test_end_that_was_lost),
        cmocka_unit_test(test_operation_whose_call_was_lost),
        cmocka_unit_test(test_handle_used_again),
        cmocka_unit_test(test_default_stream_of_two_devices),
        cmocka_unit_test(test_times_on_no_device),
        cmocka_unit_test(test_very_many_streams),
        cmocka_unit_test(test_communication_kernel),
        cmocka_unit_test(test_thread_gap_and_loss),
        cmocka_unit_test(test_counters_that_wrap),
        cmocka_unit_test(test_ends_before_their_begins),
        cmocka_unit_test(test_functions_of_another_build),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_calls_of_the_same_number_on_two_hosts),
        cmocka_unit_test(test_nothing_recorded),
        cmocka_unit_test(test_steps_from_records),
        cmocka_unit_test(test_steps_by_name),
        cmocka_unit_test(test_steps_of_graph_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
