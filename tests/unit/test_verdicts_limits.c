/*
 * Where a judgement turns: the least that is confirmed, what is much like a fault and is none, and what the replay has
 * to know of a device to reproduce it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

enum { STEPS = 30, WARMUP = 3 };

#define US(n) ((uint64_t)(n)*1000u)

typedef void step_function(struct gw_script *script, int step);

static void play(struct outcome *outcome, step_function *step)
{
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        step(&script, i);
        gw_script_end_step(&script, i < WARMUP);
    }
    for (int s = 0; s < 3; s++)
        script.now_ns = script.stream_end_ns[s] > script.now_ns ? script.stream_end_ns[s] : script.now_ns;
    outcome->model = gw_script_end(&script);
    outcome->model->steps[outcome->model->steps_count - 1].end_ns = script.now_ns;
    analyse(outcome);
}

static void check_state(step_function *step, const char *id, enum gw_verdict_state state)
{
    struct outcome outcome = {0};
    play(&outcome, step);
    const struct gw_verdict *verdict = find(&outcome, id);
    if (verdict->state != state)
        fail_msg("%s: state %d, not %d, saves %.4f ms: %s", id, verdict->state, state, verdict->saving_ms,
                 verdict->why);
    release(&outcome);
}

static void kernels(struct gw_script *script, int count, uint64_t duration_ns)
{
    for (int i = 0; i < count; i++)
        gw_script_launch(script, 1, "_Z7forwardPf", duration_ns);
}

/* ---- the least ---- */

static void query_of_two_percent(struct gw_script *script, int step)
{
    (void)step;
    kernels(script, 10, US(100));
    gw_script_stream_sync(script, 1);
    gw_script_call(script, "cudaGetDeviceProperties_v2", US(20));
}

static void query_of_three_in_a_thousand(struct gw_script *script, int step)
{
    (void)step;
    kernels(script, 40, US(100));
    gw_script_stream_sync(script, 1);
    gw_script_call(script, "cudaGetDeviceProperties_v2", US(12));
}

/* The query is the same part of a step as in the first, but the steps vary by ten times as much. */
static void query_in_the_noise(struct gw_script *script, int step)
{
    kernels(script, 10, US(60 + 20 * (uint64_t)(step * 7 % 5)));
    gw_script_stream_sync(script, 1);
    gw_script_call(script, "cudaGetDeviceProperties_v2", US(20));
}

static void half_a_percent_is_the_least(void **state)
{
    (void)state;
    check_state(query_of_two_percent, "slow-query", GW_CONFIRMED);
    check_state(query_of_three_in_a_thousand, "slow-query", GW_RULED_OUT);
    struct outcome outcome = {0};
    play(&outcome, query_in_the_noise);
    assert_int_not_equal(find(&outcome, "slow-query")->state, GW_CONFIRMED);
    release(&outcome);
}

/* ---- like a fault ---- */

static void large_download(struct gw_script *script, int step)
{
    const struct gw_copy down = {
        .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PAGEABLE, .src = 0x9000, .size_bytes = 1200000, .blocking = true};
    (void)step;
    kernels(script, 2, US(100));
    gw_script_copy(script, 1, down, US(400));
}

/* A large download is no scalar read, but one to pageable memory takes longer than it need. */
static void large_downloads_are_no_scalar_reads(void **state)
{
    (void)state;
    check_state(large_download, "host-sync", GW_RULED_OUT);
    check_state(large_download, "pageable-copy", GW_CONFIRMED);
}

static void upload_into_new_memory(struct gw_script *script, int step)
{
    const struct gw_copy up = {
        .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED, .dst = 0x1000, .size_bytes = 1200000, .hash = 77};
    const struct gw_memory memory = {.ptr = 0x1000, .stream = GW_NONE, .kind = GW_MEMORY_ASYNC + GW_MEMORY_FREE};
    (void)step;
    gw_script_copy(script, 1, up, US(100));
    kernels(script, 4, US(100));
    gw_fixture_memory_detail(script->fixture, gw_script_call(script, "cudaFreeAsync", 2000), memory);
}

/* The bytes went with the memory they lay in. */
static void freed_memory_has_to_be_filled_again(void **state)
{
    (void)state;
    check_state(upload_into_new_memory, "repeated-upload", GW_RULED_OUT);
}

/* Five queries a step, and once in a while one of them lasts: it was interrupted. */
static void interrupted_query(struct gw_script *script, int step)
{
    kernels(script, 2, US(100));
    gw_script_stream_sync(script, 1);
    for (int i = 0; i < 5; i++)
        gw_script_call(script, "cudaGetDeviceProperties_v2", i == 2 && step % 10 == 9 ? US(3000) : 2000);
}

static void interrupted_queries_are_not_slow(void **state)
{
    (void)state;
    check_state(interrupted_query, "slow-query", GW_RULED_OUT);
}

static void batch_behind_a_kernel(struct gw_script *script, int step)
{
    const struct gw_copy batch = {.size_bytes = 1 << 20, .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED};
    (void)step;
    gw_script_launch(script, 1, "_Z5firstv", US(50));
    gw_script_copy(script, 1, batch, US(50));
    kernels(script, 3, US(50));
    gw_script_blocked(script, US(1000));
}

/* The sleep before a step's first call holds back its batch, whatever the step does before it uploads that. */
static void the_head_of_a_step_may_be_a_kernel(void **state)
{
    (void)state;
    check_state(batch_behind_a_kernel, "input-starved", GW_CONFIRMED);
    check_state(batch_behind_a_kernel, "host-blocked", GW_RULED_OUT);
}

/* Many copies bring their bytes in one as well: only what each costs beside them is saved. */
static void many_large_pieces(struct gw_script *script, int step)
{
    for (uint64_t i = 0; i < 40; i++) {
        const struct gw_copy piece = {.direction = GW_COPY_H2D,
                                      .src_kind = GW_HOST_PINNED,
                                      .dst = 0x1000,
                                      .size_bytes = 60000,
                                      .hash = 500 + (uint64_t)step * 100 + i};
        gw_script_copy(script, 1, piece, US(8));
    }
    kernels(script, 2, US(20));
    gw_script_stream_sync(script, 1);
}

static void bytes_have_to_be_copied_all_the_same(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    play(&outcome, many_large_pieces);
    const struct gw_verdict *verdict = find(&outcome, "tiny-copies");
    const double kept_ms = 39 * 60000 / 12.0 / 1e6, all_ms = 39 * 8e-3;
    if (verdict->saving_ms > 1.1 * (all_ms - kept_ms))
        fail_msg("saves %.4f ms: %s", verdict->saving_ms, verdict->why);
    release(&outcome);
}

/* ---- the replay ---- */

static void check_replay(step_function *step)
{
    struct outcome outcome = {0};
    play(&outcome, step);
    if (!(fabs(outcome.verdicts->replay_error_percent) < 1))
        fail_msg("the unchanged replay misses the step by %.2f %%", outcome.verdicts->replay_error_percent);
    release(&outcome);
}

/* Uploads on two streams take turns on the one engine there is. */
static void uploads_beside_each_other(struct gw_script *script, int step)
{
    const struct gw_copy up = {
        .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED, .dst = 0x1000, .size_bytes = 1 << 20};
    (void)step;
    gw_script_copy(script, 1, up, US(200));
    gw_script_copy(script, 2, up, US(200));
    gw_script_stream_sync(script, 1);
    gw_script_stream_sync(script, 2);
}

static void one_engine_copies_in_turn(void **state)
{
    (void)state;
    check_replay(uploads_beside_each_other);
}

/* Work on the legacy stream waits for the blocking streams, and they for it. The script's streams 1 and 2 do not. */
static void the_legacy_stream_joins_blocking_ones(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    const uint32_t blocking = gw_fixture_stream(script.fixture, script.device, 3, 0);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        const uint32_t streams[] = {blocking, script.streams[0], blocking};
        uint64_t end_ns = 0;
        gw_script_step(&script, i < WARMUP);
        for (int k = 0; k < 3; k++) {
            const uint64_t ready_ns = script.now_ns + GW_SCRIPT_LATENCY_NS;
            const uint64_t start_ns = ready_ns > end_ns ? ready_ns : end_ns;
            const uint32_t call = gw_script_call(&script, "cudaLaunchKernel", GW_SCRIPT_CALL_NS);
            end_ns = start_ns + US(200);
            gw_fixture_op(script.fixture, call, streams[k], GW_OP_KERNEL, start_ns, end_ns);
        }
        script.stream_end_ns[1] = end_ns;
        gw_script_device_sync(&script);
        gw_script_end_step(&script, i < WARMUP);
    }
    outcome.model = gw_script_end(&script);
    analyse(&outcome);
    if (!(fabs(outcome.verdicts->replay_error_percent) < 1))
        fail_msg("the unchanged replay misses the step by %.2f %%", outcome.verdicts->replay_error_percent);
    release(&outcome);
}

/* Another thread goes on; until now it has been asleep, since it left its last call. */
static void hand_over(struct gw_script *script, uint32_t to, uint64_t left_ns[2])
{
    left_ns[script->thread] = script->now_ns;
    script->now_ns += US(5);
    script->thread = to;
    if (left_ns[to])
        gw_fixture_gap(script->fixture, to, left_ns[to], script->now_ns, 0);
}

/* One thread asks and then wakes the other, which launches: without the question that one would go on earlier. */
static void whoever_is_woken_goes_on_when_its_waker_does(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    uint64_t left_ns[2] = {0};
    gw_script_begin(&script);
    assert_int_equal(gw_fixture_thread(script.fixture, 101), 1);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_call(&script, "cudaGetDeviceProperties_v2", US(200));
        hand_over(&script, 1, left_ns);
        kernels(&script, 4, US(100));
        gw_script_stream_sync(&script, 1);
        hand_over(&script, 0, left_ns);
        gw_script_end_step(&script, i < WARMUP);
    }
    outcome.model = gw_script_end(&script);
    analyse(&outcome);
    const struct gw_verdict *verdict = find(&outcome, "slow-query");
    if (verdict->state != GW_CONFIRMED || !(fabs(verdict->saving_ms - 0.2) < 0.02))
        fail_msg("slow-query: state %d, saves %.4f ms: %s", verdict->state, verdict->saving_ms, verdict->why);
    release(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_percent_is_the_least),
        cmocka_unit_test(large_downloads_are_no_scalar_reads),
        cmocka_unit_test(freed_memory_has_to_be_filled_again),
        cmocka_unit_test(interrupted_queries_are_not_slow),
        cmocka_unit_test(the_head_of_a_step_may_be_a_kernel),
        cmocka_unit_test(bytes_have_to_be_copied_all_the_same),
        cmocka_unit_test(one_engine_copies_in_turn),
        cmocka_unit_test(the_legacy_stream_joins_blocking_ones),
        cmocka_unit_test(whoever_is_woken_goes_on_when_its_waker_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
