/*
 * Verdicts on scripted runs: each fault is planted and repaired. The faulty run must name it with the saving that the
 * repaired run really brings, and the repaired one must not confirm it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

enum { STEPS = 30, WARMUP = 3 };

#define US(n) ((uint64_t)(n)*1000u)

static const struct gw_copy pinned_upload = {
    .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED, .dst = 0x1000, .size_bytes = 1200000};
static const struct gw_copy pageable_upload = {
    .direction = GW_COPY_H2D, .src_kind = GW_HOST_PAGEABLE, .dst = 0x1000, .size_bytes = 1200000, .blocking = true};
static const struct gw_copy scalar_read = {
    .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PAGEABLE, .src = 0x9000, .size_bytes = 4, .blocking = true};

static void kernels(struct gw_script *script, int count, uint64_t duration_ns)
{
    for (int i = 0; i < count; i++)
        gw_script_launch(script, 1, "_Z7forwardPf", duration_ns);
}

/* A host that stays far enough ahead: work for the GPU, little for the host. */
static void healthy_step(struct gw_script *script, int step, bool faulty)
{
    (void)faulty;
    (void)step;
    kernels(script, 10, US(100));
    gw_script_think(script, US(50));
}

static void host_sync_step(struct gw_script *script, int step, bool faulty)
{
    healthy_step(script, step, faulty);
    if (faulty)
        gw_script_copy(script, 1, scalar_read, 2000);
    gw_script_think(script, US(300));
}

static void device_sync_step(struct gw_script *script, int step, bool faulty)
{
    healthy_step(script, step, faulty);
    if (faulty)
        gw_script_device_sync(script);
    gw_script_think(script, US(300));
}

static void blocking_launches_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    for (int i = 0; i < 20; i++) {
        if (faulty)
            gw_script_launch_blocking(script, 1, "_Z7forwardPf", US(40));
        else
            gw_script_launch(script, 1, "_Z7forwardPf", US(40));
    }
}

static void pageable_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    gw_script_copy(script, 1, faulty ? pageable_upload : pinned_upload, US(faulty ? 300 : 100));
    kernels(script, 4, US(100));
    gw_script_think(script, US(50));
}

static void blocking_copy_step(struct gw_script *script, int step, bool faulty)
{
    struct gw_copy copy = pinned_upload;
    (void)step;
    copy.blocking = faulty;
    copy.size_bytes = 32768; /* a larger one had better have a stream of its own */
    gw_script_copy(script, 1, copy, US(100));
    gw_script_think(script, US(200));
    kernels(script, 4, US(100));
}

static void repeated_upload_step(struct gw_script *script, int step, bool faulty)
{
    struct gw_copy constant = pinned_upload;
    constant.hash = 77;
    (void)step;
    if (faulty)
        gw_script_copy(script, 1, constant, US(100));
    kernels(script, 4, US(100));
}

static void round_trip_step(struct gw_script *script, int step, bool faulty)
{
    struct gw_copy down = {.direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED, .src = 0x2000, .size_bytes = 1200000};
    struct gw_copy up = pinned_upload;
    down.hash = up.hash = 1000 + (uint64_t)step;
    kernels(script, 4, US(100));
    if (faulty) {
        gw_script_copy(script, 1, down, US(100));
        gw_script_copy(script, 1, up, US(100));
    }
}

static void tiny_copies_step(struct gw_script *script, int step, bool faulty)
{
    struct gw_copy piece = pinned_upload;
    piece.size_bytes = 4000;
    for (int i = 0; i < (faulty ? 40 : 1); i++) {
        piece.hash = 500 + (uint64_t)(step * 100 + i);
        gw_script_copy(script, 1, piece, US(5));
    }
    kernels(script, 4, US(50));
}

static void alloc_churn_step(struct gw_script *script, int step, bool faulty)
{
    healthy_step(script, step, faulty);
    if (faulty) {
        gw_script_free(script, US(30));
        gw_script_call(script, "cudaMalloc", US(60));
    }
}

static void pinning_step(struct gw_script *script, int step, bool faulty)
{
    kernels(script, 4, US(50));
    if (faulty) {
        struct gw_memory memory = {.ptr = 0x7000, .size_bytes = 1 << 20, .stream = GW_NONE, .kind = GW_MEMORY_HOST};
        uint32_t call = gw_script_call(script, "cudaMallocHost", US(400));
        gw_fixture_memory_detail(script->fixture, call, memory);
    }
    (void)step;
}

static void recompile_step(struct gw_script *script, int step, bool faulty)
{
    healthy_step(script, step, faulty);
    if (faulty && step % 10 == 9) {
        gw_script_think(script, US(20000));
        gw_script_call(script, "cuModuleLoadData", US(5000));
    }
}

static void graph_step(struct gw_script *script, int step, bool faulty)
{
    kernels(script, 4, US(100));
    if (faulty)
        gw_script_call(script, "cudaGraphInstantiate", US(900));
    (void)step;
}

static void slow_query_step(struct gw_script *script, int step, bool faulty)
{
    kernels(script, 4, US(100));
    if (faulty)
        gw_script_call(script, "cudaGetDeviceProperties_v2", US(1000));
    (void)step;
}

static void input_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    gw_script_copy(script, 1, pinned_upload, US(100));
    kernels(script, 4, US(100));
    gw_script_stream_sync(script, 1);
    if (faulty)
        gw_script_blocked(script, US(2000));
}

static void blocked_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    kernels(script, 2, US(100));
    gw_script_stream_sync(script, 1);
    if (faulty)
        gw_script_blocked(script, US(2000));
    kernels(script, 2, US(100));
}

static void dispatch_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    for (int i = 0; i < 20; i++) {
        gw_script_launch(script, 1, "_Z7forwardPf", US(30));
        if (faulty)
            gw_script_think(script, US(100));
    }
}

static void small_kernels_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    for (int i = 0; i < 30; i++) {
        uint32_t call = gw_script_launch(script, 1, "_Z4tinyPf", US(1));
        if (!faulty)
            continue;
        gw_fixture_model(script->fixture)->calls[call].end_ns += US(20);
        script->now_ns += US(20);
    }
    kernels(script, 1, US(100));
}

static void serialised_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    gw_script_copy(script, faulty ? 1 : 2, pinned_upload, US(150));
    kernels(script, 4, US(100));
}

static void hiccup_step(struct gw_script *script, int step, bool faulty)
{
    healthy_step(script, step, faulty);
    if (faulty && step % 10 == 9)
        gw_script_think(script, US(15000));
}

typedef void step_function(struct gw_script *script, int step, bool faulty);

/* The mean over the analysed steps, the work they leave on the device included. */
static void run(struct outcome *outcome, step_function *step, bool faulty)
{
    struct gw_script script;
    gw_script_begin(&script);
    uint64_t begin = 0;
    for (int i = 0; i < WARMUP + STEPS; i++) {
        if (i == WARMUP) {
            begin = script.stream_end_ns[1] > script.now_ns ? script.stream_end_ns[1] : script.now_ns;
        }
        gw_script_step(&script, i < WARMUP);
        step(&script, i, faulty);
        gw_script_end_step(&script, i < WARMUP);
    }
    for (int s = 1; s < 3; s++)
        script.now_ns = script.stream_end_ns[s] > script.now_ns ? script.stream_end_ns[s] : script.now_ns;
    outcome->mean_ms = (double)(script.now_ns - begin) / STEPS / 1e6;
    outcome->model = gw_script_end(&script);
    /* The model's last step ends with the last of its operations. */
    outcome->model->steps[outcome->model->steps_count - 1].end_ns = script.now_ns;
    analyse(outcome);
}

static void fault_is_named_and_priced(const char *id, step_function *step)
{
    struct outcome faulty = {0}, repaired = {0};
    run(&faulty, step, true);
    run(&repaired, step, false);
    const struct gw_verdict *verdict = find(&faulty, id);
    double saved = faulty.mean_ms - repaired.mean_ms;
    print_message("%s: saves %.4f of %.4f ms, really %.4f; replay error %.3f %%: %s\n", id, verdict->saving_ms,
                  faulty.mean_ms, saved, faulty.verdicts->replay_error_percent, verdict->why);
    assert_int_equal(verdict->state, GW_CONFIRMED);
    if (fabs(verdict->saving_ms - saved) > 0.1 * saved)
        fail_msg("%s: saving %.4f ms, the repaired run is faster by %.4f ms", id, verdict->saving_ms, saved);
    assert_non_null(verdict->fix);
    assert_true(verdict->evidence_count > 0 && verdict->evidence_count <= GW_EVIDENCE_MAX);
    for (size_t i = 0; i < faulty.verdicts->list_count; i++) { /* nothing is confirmed above the whole */
        const struct gw_verdict *other = &faulty.verdicts->list[i];
        if (other->state == GW_CONFIRMED && other->saving_ms > 1.1 * saved && other != verdict)
            fail_msg("%s is confirmed with %.4f ms above %s: %s", other->id, other->saving_ms, id, other->why);
    }
    verdict = find(&repaired, id);
    if (verdict->state == GW_CONFIRMED)
        fail_msg("%s is confirmed in the repaired run: %s", id, verdict->why);
    release(&faulty);
    release(&repaired);
}

#define FAULT(name, id, step)                                                                                          \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        fault_is_named_and_priced(id, step);                                                                           \
    }

FAULT(host_sync, "host-sync", host_sync_step)
FAULT(device_sync, "device-sync", device_sync_step)
FAULT(blocking_launches, "blocking-launches", blocking_launches_step)
FAULT(pageable_copy, "pageable-copy", pageable_step)
FAULT(blocking_copy, "blocking-copy", blocking_copy_step)
FAULT(repeated_upload, "repeated-upload", repeated_upload_step)
FAULT(round_trip_copy, "round-trip-copy", round_trip_step)
FAULT(tiny_copies, "tiny-copies", tiny_copies_step)
FAULT(alloc_churn, "alloc-churn", alloc_churn_step)
FAULT(pinning_in_loop, "pinning-in-loop", pinning_step)
FAULT(recompile, "recompile", recompile_step)
FAULT(graph_recapture, "graph-recapture", graph_step)
FAULT(slow_query, "slow-query", slow_query_step)
FAULT(input_starved, "input-starved", input_step)
FAULT(host_blocked, "host-blocked", blocked_step)
FAULT(dispatch_bound, "dispatch-bound", dispatch_step)
FAULT(small_kernels, "small-kernels", small_kernels_step)
FAULT(stream_serialised, "stream-serialised", serialised_step)
FAULT(hiccup, "hiccup", hiccup_step)

static void healthy_run_confirms_nothing(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    const char *const *ids;
    run(&outcome, healthy_step, false);
    assert_int_equal(outcome.verdicts->list_count, gw_verdict_ids(&ids));
    assert_true(outcome.verdicts->replay_error_percent >= 0 && outcome.verdicts->replay_error_percent < 2);
    for (size_t i = 0; i < outcome.verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &outcome.verdicts->list[i];
        if (verdict->state == GW_CONFIRMED)
            fail_msg("%s is confirmed: %s", verdict->id, verdict->why);
        assert_non_null(verdict->why);
    }
    release(&outcome);
}

/* A scalar read that a synchronisation right after would pay again costs nothing by itself. */
static void read_then_sync_step(struct gw_script *script, int step, bool faulty)
{
    (void)step;
    (void)faulty;
    kernels(script, 10, US(100));
    gw_script_copy(script, 1, scalar_read, 2000);
    gw_script_device_sync(script);
    gw_script_think(script, US(300));
}

static void wait_paid_again_saves_nothing(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    run(&outcome, read_then_sync_step, true);
    const struct gw_verdict *verdict = find(&outcome, "host-sync");
    print_message("%s\n", verdict->why);
    assert_int_not_equal(verdict->state, GW_CONFIRMED);
    release(&outcome);
}

/* XLA reads a value so: the copy does not wait, a callback tells the host, and who wants the value sleeps. */
static void callback_read_step(struct gw_script *script, int step, bool waits)
{
    struct gw_copy copy = scalar_read;
    (void)step;
    copy.blocking = false;
    copy.dst_kind = GW_HOST_PINNED;
    kernels(script, 10, US(100));
    gw_script_copy(script, 1, copy, 2000);
    gw_script_call(script, "cuLaunchHostFunc", 1000);
    if (waits && script->stream_end_ns[1] > script->now_ns)
        gw_script_blocked(script, script->stream_end_ns[1] - script->now_ns);
    gw_script_think(script, US(300));
}

static void read_by_callback_is_not_ruled_out(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        struct outcome outcome = {0};
        run(&outcome, callback_read_step, waits);
        const struct gw_verdict *verdict = find(&outcome, "host-sync");
        print_message("%s\n", verdict->why);
        assert_int_equal(verdict->state, waits ? GW_UNKNOWN : GW_RULED_OUT);
        assert_true(fabs(verdict->per_step - 1) < 0.1);
        release(&outcome);
    }
}

static void hidden_pageable_step(struct gw_script *script, int step, bool faulty)
{
    struct gw_copy copy = pageable_upload;
    (void)step;
    (void)faulty;
    copy.size_bytes = 1200000;
    kernels(script, 10, US(100));
    gw_script_copy(script, 2, copy, US(100));
}

static void hidden_pageable_copy_costs_nothing(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    run(&outcome, hidden_pageable_step, true);
    const struct gw_verdict *verdict = find(&outcome, "pageable-copy");
    print_message("%s\n", verdict->why);
    assert_int_equal(verdict->state, GW_RULED_OUT);
    release(&outcome);
}

static void without_gpu_timing_nothing_is_claimed(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < 10; i++) {
        gw_script_step(&script, i == 0);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
        gw_script_device_sync(&script);
        gw_script_end_step(&script, i == 0);
    }
    outcome.model = gw_script_end(&script);
    for (size_t i = 0; i < outcome.model->ops_count; i++) {
        outcome.model->ops[i].start_ns = outcome.model->ops[i].end_ns = GW_TIME_UNKNOWN;
        outcome.model->ops[i].flags |= GW_OP_UNTIMED;
    }
    outcome.model->timing = GW_TIMING_OFF;
    analyse(&outcome);
    assert_int_equal(find(&outcome, "device-sync")->state, GW_UNKNOWN);
    assert_int_equal(find(&outcome, "alloc-churn")->state, GW_RULED_OUT); /* there is no such call */
    assert_true(outcome.verdicts->replay_error_percent < 0);
    for (size_t i = 0; i < outcome.verdicts->list_count; i++)
        assert_int_not_equal(outcome.verdicts->list[i].state, GW_CONFIRMED);
    release(&outcome);
}

/* What is advised when `lost` events are missing in the last step; 0: it is not known how many. */
static void advises(uint64_t lost, const char *advice)
{
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < 10; i++) {
        gw_script_step(&script, i == 0);
        healthy_step(&script, i, false);
        gw_script_end_step(&script, i == 0);
    }
    gw_fixture_loss(script.fixture, script.now_ns - US(100), script.now_ns - US(50), lost);
    outcome.model = gw_script_end(&script);
    analyse(&outcome);
    assert_int_equal(find(&outcome, "alloc-churn")->state, GW_UNKNOWN);
    assert_non_null(strstr(find(&outcome, "alloc-churn")->why, advice));
    release(&outcome);
}

static void losses_forbid_ruling_out(void **state)
{
    (void)state;
    advises(17, "record again with larger buffers");
    advises(0, "damaged");
}

static void no_steps_means_unknown(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    outcome.model = gw_fixture_finish(gw_fixture_create());
    analyse(&outcome);
    for (size_t i = 0; i < outcome.verdicts->list_count; i++)
        assert_int_equal(outcome.verdicts->list[i].state, GW_UNKNOWN);
    release(&outcome);
}

static void order_is_by_state_then_saving(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    run(&outcome, alloc_churn_step, true);
    for (size_t i = 1; i < outcome.verdicts->list_count; i++) {
        const struct gw_verdict *a = &outcome.verdicts->list[i - 1], *b = &outcome.verdicts->list[i];
        assert_true(a->state < b->state ||
                    (a->state == b->state && (a->state != GW_CONFIRMED || a->saving_ms >= b->saving_ms)));
    }
    release(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_run_confirms_nothing),
        cmocka_unit_test(host_sync),
        cmocka_unit_test(device_sync),
        cmocka_unit_test(blocking_launches),
        cmocka_unit_test(pageable_copy),
        cmocka_unit_test(blocking_copy),
        cmocka_unit_test(repeated_upload),
        cmocka_unit_test(round_trip_copy),
        cmocka_unit_test(tiny_copies),
        cmocka_unit_test(alloc_churn),
        cmocka_unit_test(pinning_in_loop),
        cmocka_unit_test(recompile),
        cmocka_unit_test(graph_recapture),
        cmocka_unit_test(slow_query),
        cmocka_unit_test(input_starved),
        cmocka_unit_test(host_blocked),
        cmocka_unit_test(dispatch_bound),
        cmocka_unit_test(small_kernels),
        cmocka_unit_test(stream_serialised),
        cmocka_unit_test(hiccup),
        cmocka_unit_test(wait_paid_again_saves_nothing),
        cmocka_unit_test(read_by_callback_is_not_ruled_out),
        cmocka_unit_test(hidden_pageable_copy_costs_nothing),
        cmocka_unit_test(without_gpu_timing_nothing_is_claimed),
        cmocka_unit_test(losses_forbid_ruling_out),
        cmocka_unit_test(no_steps_means_unknown),
        cmocka_unit_test(order_is_by_state_then_saving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
