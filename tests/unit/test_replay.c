/*
 * What holds up what in the replay: waits, those who wake up from them, sleep, branches of graphs.
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

#include "analyzer/verdicts/judge.h"
#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

enum { STEPS = 30, WARMUP = 3 };

#define US(n) ((uint64_t)(n)*1000u)

/* The host reads a number, and then releases memory, which waits for the GPU as well: nothing is saved by not reading.
 */
static void a_release_pays_the_wait_again(void **state)
{
    (void)state;
    for (int released = 0; released < 2; released++) {
        const struct gw_copy read = {.size_bytes = 4, .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED};
        const struct gw_memory memory = {.ptr = 0x7000, .kind = GW_MEMORY_HOST + GW_MEMORY_FREE};
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            gw_script_launch(&script, 1, "_Z7forwardPf", US(1000));
            gw_script_copy(&script, 1, read, US(2));
            gw_script_stream_sync(&script, 1);
            uint32_t call = gw_script_call(&script, released ? "cudaFreeHost" : "cudaGetDevice", US(5));
            if (released)
                gw_fixture_memory_detail(script.fixture, call, memory);
            gw_script_think(&script, US(300));
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        expect(&outcome, "host-sync", released ? GW_RULED_OUT : GW_CONFIRMED, 0.31);
        release(&outcome);
    }
}

/* Whoever sleeps until the GPU is through wakes up late: a release that only has to wait once the read before it is
 * gone wakes up as late as the read did. */
static void waking_up_is_paid_by_whoever_sleeps(void **state)
{
    (void)state;
    const struct gw_copy read = {.size_bytes = 4, .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED};
    const struct gw_memory memory = {.ptr = 0x7000, .kind = GW_MEMORY_HOST + GW_MEMORY_FREE};
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(1000));
        gw_script_copy(&script, 1, read, US(2));
        gw_script_stream_sync(&script, 1);
        struct gw_model *building = gw_fixture_model(script.fixture);
        script.now_ns += US(100);
        building->calls[building->calls_count - 1].end_ns = script.now_ns;
        gw_fixture_memory_detail(script.fixture, gw_script_call(&script, "cudaFreeHost", US(5)), memory);
        gw_script_think(&script, US(300));
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    expect(&outcome, "host-sync", GW_RULED_OUT, 0);
    release(&outcome);
}

/* A graph of two branches: what comes after both begins earlier when the longer one is gone, what is on the shorter one
 * does not. All bear the name of one stream. */
static void branches_of_a_graph_do_not_wait_for_each_other(void **state)
{
    static const struct {
        uint64_t begin_us, end_us;
        bool is_side;
    } parts[] = {{0, 100, false}, {100, 400, true}, {100, 200, false}, {200, 300, false}, {400, 500, false}};
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    struct gw_judge judge;
    double before_ns = 0, after_ns = 0;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        const uint32_t call = gw_script_call(&script, "cudaGraphLaunch", GW_SCRIPT_CALL_NS);
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            gw_fixture_op(script.fixture, call, script.streams[1], parts[p].is_side ? GW_OP_MEMSET : GW_OP_KERNEL,
                          script.now_ns + US(5 + parts[p].begin_us), script.now_ns + US(5 + parts[p].end_us));
        script.stream_end_ns[1] = script.now_ns + US(505);
        gw_script_stream_sync(&script, 1);
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    assert_int_equal(gw_judge_init(&judge, outcome.model, outcome.budget), 0);
    assert_non_null(judge.replay);
    uint64_t *op_ns = malloc(outcome.model->ops_count * sizeof *op_ns);
    assert_non_null(op_ns);
    for (size_t i = 0; i < outcome.model->ops_count; i++)
        op_ns[i] = outcome.model->ops[i].kind == GW_OP_MEMSET ? 0 : GW_TIME_UNKNOWN;
    const struct gw_repair repair = {.op_ns = op_ns};
    assert_int_equal(gw_replay_run(judge.replay, NULL, &before_ns, NULL), 0);
    assert_int_equal(gw_replay_run(judge.replay, &repair, &after_ns, NULL), 0);
    assert_float_equal(before_ns - after_ns, US(100), 1000);
    free(op_ns);
    gw_judge_release(&judge);
    release(&outcome);
}

/* What a thread sleeps is not time for which Python could be faster. */
static void sleep_is_no_time_on_the_cpu(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
        gw_script_stream_sync(&script, 1);
        gw_script_think(&script, US(3));
        gw_script_blocked(&script, US(500));
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    expect(&outcome, "host-blocked", GW_CONFIRMED, 0.5);
    const struct gw_verdict *dispatch = find(&outcome, "dispatch-bound");
    expect(&outcome, "dispatch-bound", GW_RULED_OUT, 0);
    if (!strstr(dispatch->why, "it costs at most") || strstr(dispatch->why, "what comes next"))
        fail_msg("the replay was asked: %s", dispatch->why);
    release(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_pays_the_wait_again),
        cmocka_unit_test(waking_up_is_paid_by_whoever_sleeps),
        cmocka_unit_test(sleep_is_no_time_on_the_cpu),
        cmocka_unit_test(branches_of_a_graph_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
