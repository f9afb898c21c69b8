/* Steps from calls and operations: what counts for the sequence, and which steps are warm-up. */
#include "analyzer/model/sequence.h"
#include "analyzer/model/steps.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/trace_records.h"

/* The batches ahead are uploaded by a thread of its own, now one, now three in a step, whichever kernel comes next. */
static void test_steps_beside_a_loader(void **state)
{
    (void)state;
    static const char *const names[] = {"embed", "attend", "attend", "classify"};
    struct gw_fixture *fixture = gw_fixture_create();
    const uint32_t trainer = gw_fixture_thread(fixture, 100), loader = gw_fixture_thread(fixture, 101);
    const uint32_t device = gw_fixture_device(fixture, 0);
    const uint32_t compute = gw_fixture_stream(fixture, device, 1, GW_STREAM_NON_BLOCKING);
    const uint32_t copies = gw_fixture_stream(fixture, device, 2, GW_STREAM_NON_BLOCKING);
    uint64_t now_ns = 1000, begins[40];
    uint32_t random = 7;
    for (size_t step = 0; step < 40; step++) {
        begins[step] = now_ns;
        for (size_t k = 0; k < 4; k++, now_ns += 100) {
            uint32_t call = gw_fixture_call(fixture, trainer, "cudaLaunchKernel", now_ns, now_ns + 10, 1);
            gw_fixture_op_name(fixture, gw_fixture_op(fixture, call, compute, GW_OP_KERNEL, now_ns + 20, now_ns + 90),
                               names[k]);
            random = random * 1664525u + 1013904223u;
            if (random >> 30 == 0) {
                call = gw_fixture_call(fixture, loader, "cudaMemcpyAsync", now_ns + 50, now_ns + 60, 1);
                gw_fixture_op(fixture, call, copies, GW_OP_H2D, now_ns + 70, now_ns + 80);
            }
        }
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_steps_by_sequence(model), 0);
    assert_int_equal(model->steps_count, 40);
    for (size_t step = 0; step < 40; step++) {
        assert_int_equal(model->steps[step].begin_ns, begins[step]);
    }
    gw_model_destroy(model);
}

/* A server's requests begin and end alike, and are of any length and kind: if they are taken for steps, not with any
 * confidence. */
static void test_requests_of_a_server(void **state)
{
    (void)state;
    static const char *const names[] = {"attend", "convolve", "mix"};
    struct gw_fixture *fixture = gw_fixture_create();
    const uint32_t thread = gw_fixture_thread(fixture, 100);
    const uint32_t stream = gw_fixture_stream(fixture, gw_fixture_device(fixture, 0), 1, GW_STREAM_NON_BLOCKING);
    uint64_t now_ns = 1000;
    uint32_t random = 11;
    for (size_t request = 0; request < 80; request++) {
        now_ns += 200000;
        for (uint32_t name = 0; name < 4; name++) {
            random = random * 1664525u + 1013904223u;
            const uint32_t most[] = {12, 1, 4, 1}, count = name == 3 ? 1 : (name == 0) + (random >> 8) % most[name];
            for (uint32_t k = 0; k < count; k++, now_ns += 100) {
                uint32_t call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", now_ns, now_ns + 10, 1);
                uint32_t op = gw_fixture_op(fixture, call, stream, name == 3 ? GW_OP_D2H : GW_OP_KERNEL, now_ns + 20,
                                            now_ns + 90);
                if (name < 3) {
                    gw_fixture_op_name(fixture, op, names[name]);
                }
            }
        }
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_steps_by_sequence(model), 0);
    assert_true(!model->steps_count || model->steps_confidence < 0.5);
    gw_model_destroy(model);
}

/* Four micro-steps and a blend: whether this is their update or comes after every fourth step, nothing tells. The other
 * reading is named, and selects itself. */
static void test_other_reading(void **state)
{
    (void)state;
    static const char *const names[] = {"relu+add", "layer", "layer", "loss", "mix", "blend"};
    struct gw_fixture *fixture = gw_fixture_create();
    const uint32_t thread = gw_fixture_thread(fixture, 100);
    const uint32_t stream = gw_fixture_stream(fixture, gw_fixture_device(fixture, 0), 1, GW_STREAM_NON_BLOCKING);
    uint64_t now_ns = 1000;
    for (size_t batch = 0; batch < 80; batch++, now_ns += 1000) {
        uint32_t call = gw_fixture_call(fixture, thread, "cudaMemcpyAsync", now_ns, now_ns + 10, 1);
        gw_fixture_op(fixture, call, stream, GW_OP_H2D, now_ns + 20, now_ns + 90);
        for (size_t k = 0; k < (batch % 4 == 3 ? 6 : 5); k++) {
            now_ns += 100;
            call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", now_ns, now_ns + 10, 1);
            gw_fixture_op_name(fixture, gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, now_ns + 20, now_ns + 90),
                               names[k]);
        }
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_steps_by_sequence(model), 0);
    assert_int_equal(model->steps_count, 20);
    assert_int_equal(model->micro_steps, 4);
    assert_true(model->steps_confidence < 0.8);
    assert_int_equal(model->steps_other.count, 80);
    assert_string_equal(model->steps_other.step, "^relu\\+add$");
    assert_int_equal(model->steps_other.every, 1);
    model->steps_count = 0;
    assert_int_equal(gw_steps_by_name(model, model->steps_other.step, model->steps_other.every, NULL), 0);
    assert_int_equal(model->steps_count, 80);
    gw_model_destroy(model);
}

/* Ten steps of an upload and three kernels, before which the host waits for two events, each for so long. */
static void expect_begins_with_waits(uint64_t wait_ns, bool with_waits)
{
    static const char *const names[] = {"forward", "backward", "update"};
    struct gw_fixture *fixture = gw_fixture_create();
    const uint32_t thread = gw_fixture_thread(fixture, 100);
    const uint32_t stream = gw_fixture_stream(fixture, gw_fixture_device(fixture, 0), 1, GW_STREAM_NON_BLOCKING);
    uint64_t now_ns = 1000, waits[10], uploads[10];
    for (size_t step = 0; step < 10; step++, now_ns += 500000) {
        waits[step] = now_ns;
        for (size_t wait = 0; wait < 2; wait++, now_ns += wait_ns + 100) {
            gw_fixture_call(fixture, thread, "cudaEventSynchronize", now_ns, now_ns + wait_ns, 1);
        }
        now_ns += 300000;
        uploads[step] = now_ns;
        for (size_t k = 0; k < 4; k++, now_ns += 1000) {
            uint32_t call =
                gw_fixture_call(fixture, thread, k ? "cudaLaunchKernel" : "cudaMemcpyAsync", now_ns, now_ns + 10, 1);
            uint32_t op = gw_fixture_op(fixture, call, stream, k ? GW_OP_KERNEL : GW_OP_H2D, now_ns + 20, now_ns + 90);
            if (k) {
                gw_fixture_op_name(fixture, op, names[k - 1]);
            }
        }
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_steps_by_sequence(model), 0);
    assert_int_equal(model->steps_count, 10);
    for (size_t step = 0; step < 10; step++) {
        assert_int_equal(model->steps[step].begin_ns, with_waits ? waits[step] : uploads[step]);
        assert_int_equal(model->steps[step].first_op, 4 * step);
        assert_int_equal(model->steps[step].op_count, 4);
    }
    gw_model_destroy(model);
}

/* Waits for events that had come read timers, before which the loop's top lies; others wait for the step before. */
static void test_reads_of_timers(void **state)
{
    (void)state;
    expect_begins_with_waits(2000, true);
    expect_begins_with_waits(200000, false);
}

/* A step of an upload, a kernel and a wait; the first `compiled` of ten load code in between. */
static size_t count_warmup(int compiled)
{
    struct trace trace;
    uint64_t now_ns = 1000, sequence = 0;
    size_t warmup = 0;
    begin_trace(&trace);
    add_stream(&trace, 10, 0, STREAM, 1);
    add_function(&trace, 20, "kernel");
    for (int step = 0; step < 10; step++) {
        add_copy(&trace, ++sequence, now_ns, now_ns + 10, STREAM);
        if (step < compiled) {
            add_begin(&trace, ++sequence, "cudaLibraryLoadData", now_ns + 50);
            add_call(&trace, sequence, "cudaLibraryLoadData", 1, now_ns + 50, now_ns + 60050, GW_SITE_HAS_BEGIN);
        }
        add_launch(&trace, ++sequence, now_ns + 60105, now_ns + 60110, 1);
        add_call(&trace, sequence, "cudaLaunchKernel", 1, now_ns + 60100, now_ns + 60120, 0);
        add_begin(&trace, ++sequence, "cudaDeviceSynchronize", now_ns + 60200);
        add_call(&trace, sequence, "cudaDeviceSynchronize", 1, now_ns + 60200, now_ns + 60400, GW_SITE_HAS_BEGIN);
        now_ns += 60500;
    }
    const struct gw_model *model = build(&trace);
    assert_int_equal(model->steps_count, 10);
    for (size_t step = 0; step < 10; step++) {
        warmup += model->steps[step].warmup;
    }
    end_trace(&trace);
    return warmup;
}

static void test_warmup_ends_when_compilation_does(void **state)
{
    (void)state;
    assert_int_equal(count_warmup(0), 1);
    assert_int_equal(count_warmup(4), 4);
    assert_int_equal(count_warmup(7), 5);
}

/* A loop that compiles in every step has no warm-up but its first one. */
static void test_warmup_that_never_ends(void **state)
{
    (void)state;
    assert_int_equal(count_warmup(10), 1);
}

/* Launches one kernel of each name and returns which of them update parameters, as far as their names say. With a graph
 * that is replayed besides when has_graph. */
static uint32_t find_updates(const char *const *names, size_t count, bool has_graph)
{
    struct gw_fixture *fixture = gw_fixture_create();
    const uint32_t thread = gw_fixture_thread(fixture, 100);
    const uint32_t stream = gw_fixture_stream(fixture, gw_fixture_device(fixture, 0), 0, GW_STREAM_LEGACY);
    struct gw_sequence sequence;
    uint32_t updates = 0;
    for (size_t i = 0; i < count + has_graph; i++) {
        uint32_t call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", 100 * i, 100 * i + 10, 1);
        uint32_t op =
            gw_fixture_op(fixture, call, stream, i < count ? GW_OP_KERNEL : GW_OP_GRAPH, 100 * i + 20, 100 * i + 90);
        gw_fixture_op_name(fixture, op, i < count ? names[i] : "graph");
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes[0].op_count = (uint32_t)model->ops_count;
    assert_int_equal(gw_sequence_create(model, 0, false, &sequence), 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(sequence.events[i].traits & GW_TRAIT_KERNEL);
        updates |= sequence.events[i].traits & GW_TRAIT_UPDATE ? 1u << i : 0;
    }
    gw_sequence_clear(&sequence);
    gw_model_destroy(model);
    return updates;
}

static void test_kernels_that_update_parameters(void **state)
{
    (void)state;
    static const char *const names[] = {
        "_Z21optimizer_step_kernelPf",
        "forward_spin_ns",
        "_ZN2at6native25multi_tensor_apply_kernelINS0_18TensorListMetadataILi4EEENS0_21FusedAdamMathFunctorIfLi4E",
        "ResourceApplyAdamKernel",
        "_ZN2at6native29vectorized_elementwise_kernelIZZZlambda",
        "SGD",
        "_Z11opt_spin_nsyPf",
        "adopt_optional_kernel",
        "run_opt"};
    assert_int_equal(find_updates(names, 9, false), 0x16d);
    assert_int_equal(find_updates(names, 9, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_beside_a_loader),
        cmocka_unit_test(test_requests_of_a_server),
        cmocka_unit_test(test_other_reading),
        cmocka_unit_test(test_reads_of_timers),
        cmocka_unit_test(test_warmup_ends_when_compilation_does),
        cmocka_unit_test(test_warmup_that_never_ends),
        cmocka_unit_test(test_kernels_that_update_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
