/*
 * What was not seen turns no suspect into "fine": each is unknown, with the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

#define STEPS 30
#define US(n) ((uint64_t)(n)*1000u)

/* A healthy loop, its steps marked or not. */
static struct gw_model *healthy_run(bool steps)
{
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        if (steps)
            gw_script_step(&script, i < 3);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(400));
        gw_script_launch(&script, 1, "_Z8backwardPf", US(600));
    }
    script.now_ns = script.stream_end_ns[1];
    if (steps)
        gw_script_end_step(&script, false);
    return gw_script_end(&script);
}

static void expect_unknown(const struct outcome *outcome, const char *id, const char *reason)
{
    const struct gw_verdict *verdict = find(outcome, id);
    if (verdict->state != GW_UNKNOWN || !strstr(verdict->why, reason))
        fail_msg("%s: state %d, wanted unknown for \"%s\": %s", id, verdict->state, reason, verdict->why);
}

static void expect_all_unknown(struct gw_model *model, const char *reason)
{
    struct outcome outcome = {.model = model};
    const char *const *ids;
    size_t count = gw_verdict_ids(&ids);
    analyse(&outcome);
    for (size_t i = 0; i < count; i++)
        expect_unknown(&outcome, ids[i], reason);
    release(&outcome);
}

static void nothing_is_judged_without_calls(void **state)
{
    (void)state;
    struct gw_script script;
    gw_script_begin(&script);
    expect_all_unknown(gw_script_end(&script), "no CUDA call was seen");
}

static void nothing_is_judged_without_steps(void **state)
{
    (void)state;
    expect_all_unknown(healthy_run(false), "no repeating steps");
}

/* What would have shown a fault may be among the events that were lost within the analysed steps. */
static void nothing_is_ruled_out_where_events_were_lost(void **state)
{
    (void)state;
    for (uint64_t lost = 0; lost < 20; lost += 10) {
        struct outcome outcome = {.model = healthy_run(true)};
        const struct gw_step *step = &outcome.model->steps[STEPS / 2];
        struct gw_loss loss = {.begin_ns = step->begin_ns, .end_ns = step->end_ns, .count = lost};
        const char *const *ids;
        size_t count = gw_verdict_ids(&ids);
        outcome.model->losses = realloc(outcome.model->losses, sizeof loss);
        assert_non_null(outcome.model->losses);
        outcome.model->losses[0] = loss;
        outcome.model->losses_count = 1;
        analyse(&outcome);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(ids[i], "scaling") != 0) /* it needs two runs, whatever was lost */
                expect_unknown(&outcome, ids[i], lost ? "events were lost" : "is damaged");
        }
        release(&outcome);
    }
}

/* What a recorder never looks at says nothing by its absence. */
static void nothing_is_ruled_out_that_the_recorder_never_sees(void **state)
{
    (void)state;
    static const struct {
        uint32_t unseen;
        const char *id, *reason;
    } cases[] = {
        {GW_UNSEEN_LOADS, "recompile", "does not record loads of modules"},
        {GW_UNSEEN_LOADS, "compile-warmup", "does not record loads of modules"},
        {GW_UNSEEN_CPU_TIME, "input-starved", "does not tell whether a thread sleeps"},
        {GW_UNSEEN_CPU_TIME, "host-blocked", "does not tell whether a thread sleeps"},
        {GW_UNSEEN_ORDERS, "dependency-stall", "does not tell which stream waits"},
        {GW_UNSEEN_NCCL, "comm-init", "does not record NCCL's own calls"},
        {GW_UNSEEN_BYTES, "repeated-upload", "does not look at what copies carry"},
        {GW_UNSEEN_BYTES, "round-trip-copy", "does not look at what copies carry"},
        {GW_UNSEEN_RANKS, "straggler", "some ranks of the job are not in the run"},
        {GW_UNSEEN_RANKS, "imbalance", "some ranks of the job are not in the run"},
        {GW_UNSEEN_RANKS, "comm-slow-link", "some ranks of the job are not in the run"},
        {GW_UNSEEN_RANKS, "pipeline-bubble", "some ranks of the job are not in the run"},
        {GW_UNSEEN_RANKS, "idle-device", "some ranks of the job are not in the run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome = {.model = healthy_run(true)};
        outcome.model->run.unseen = cases[i].unseen;
        analyse(&outcome);
        expect_unknown(&outcome, cases[i].id, cases[i].reason);
        release(&outcome);
    }
}

/* ---- every suspect, with its sign in the run, under every condition that keeps something from sight ---- */

/* A step with the sign of nearly every suspect that needs no other rank. */
static void play_signs(struct gw_script *script, int step)
{
    const struct gw_copy batch = {
        .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED, .dst = 0x1000, .size_bytes = 1 << 20};
    struct gw_copy pageable = batch, blocking = batch, tiny = batch, again = batch;
    const struct gw_copy read = {
        .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PAGEABLE, .src = 0x9000, .size_bytes = 4, .blocking = true};
    const struct gw_copy down = {
        .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED, .src = 0x5000, .size_bytes = 1 << 20, .hash = 900};
    struct gw_copy up = batch;
    char name[32];
    gw_script_blocked(script, US(1000));
    gw_script_copy(script, 1, batch, US(100));
    pageable.src_kind = GW_HOST_PAGEABLE;
    pageable.blocking = true;
    gw_script_copy(script, 1, pageable, US(300));
    blocking.blocking = true;
    gw_script_copy(script, 1, blocking, US(100));
    again.hash = 77;
    gw_script_copy(script, 1, again, US(100));
    gw_script_copy(script, 1, down, US(100));
    up.hash = 900;
    gw_script_copy(script, 1, up, US(100));
    tiny.size_bytes = 64;
    for (int i = 0; i < 20; i++)
        gw_script_copy(script, 1, tiny, US(2));
    gw_script_call(script, "cudaHostAlloc", US(400));
    gw_script_call(script, "cudaMalloc", US(400));
    gw_script_call(script, "cudaStreamBeginCapture", US(400));
    gw_script_call(script, "cudaGraphInstantiate", US(400));
    gw_script_call(script, "cudaDeviceGetAttribute", US(400));
    gw_script_record(script, 1);
    gw_script_wait(script, 2);
    for (int i = 0; i < 20; i++)
        gw_script_launch(script, 1, "_Z4tinyPf", US(1));
    gw_script_think(script, US(900));
    gw_script_launch(script, 1, "_Z7forwardPf", US(200));
    gw_script_copy(script, 1, read, US(2));
    gw_script_device_sync(script);
    gw_script_blocked(script, US(700));
    if (step % 10 == 9) {
        gw_script_think(script, US(9000));
        gw_script_call(script, "cuModuleLoadData", US(900));
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "_Z5trial%dv", step * 10 + i);
            gw_script_launch(script, 1, name, US(300));
        }
    }
    gw_script_launch(script, 1, "_Z8backwardPf", US(200));
}

enum condition { WITHOUT_GPU_TIMES, WITH_LOSSES, ONE_RANK_OF_SEVERAL, IMPORTED, CONDITIONS };

static struct gw_model *run_with_signs(enum condition condition)
{
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        gw_script_step(&script, i < 3);
        play_signs(&script, i);
        if (i == STEPS / 2 && condition == WITH_LOSSES)
            gw_fixture_loss(script.fixture, script.step_begin_ns, script.now_ns, 10);
    }
    gw_script_end_step(&script, false);
    struct gw_model *model = gw_script_end(&script);
    for (size_t i = 0; i < model->ops_count && condition == WITHOUT_GPU_TIMES; i++) {
        model->ops[i].flags |= GW_OP_UNTIMED;
        model->ops[i].start_ns = model->ops[i].end_ns = GW_TIME_UNKNOWN;
    }
    model->run.unseen = condition == ONE_RANK_OF_SEVERAL ? GW_UNSEEN_RANKS
                        : condition == IMPORTED
                            ? GW_UNSEEN_LOADS | GW_UNSEEN_CPU_TIME | GW_UNSEEN_ORDERS | GW_UNSEEN_NCCL | GW_UNSEEN_BYTES
                            : 0;
    return model;
}

/* What is said of each suspect under each condition: c confirmed, r ruled out, u unknown for what is missing, 2 unknown
 * since it needs two runs. Confirmed is what costs something and is seen all the same: with losses, more than the time
 * in which nothing is known of the GPU. */
static const struct {
    const char *id, *states; /* in the order of enum condition */
} documented[] = {
    {"host-sync", "uurr"},       {"blocking-launches", "uurr"}, {"device-sync", "uurr"},
    {"pageable-copy", "uccc"},   {"blocking-copy", "uurr"},     {"repeated-upload", "uucc"},
    {"round-trip-copy", "uccc"}, {"tiny-copies", "uucc"},       {"pinning-in-loop", "rurr"},
    {"alloc-churn", "uccc"},     {"recompile", "uccc"},         {"lazy-load", "rurr"},
    {"graph-recapture", "uccc"}, {"autotune", "uucc"},          {"slow-query", "uccc"},
    {"input-starved", "uccc"},   {"host-blocked", "uccc"},      {"small-kernels", "uucc"},
    {"dispatch-bound", "uccc"},  {"stream-serialised", "uurr"}, {"dependency-stall", "uuru"},
    {"hiccup", "uurr"},          {"compile-warmup", "ruru"},    {"imbalance", "ruur"},
    {"idle-device", "uuur"},     {"shared-gpu", "uurr"},        {"comm-redundant", "rurr"},
    {"comm-tiny", "rurr"},       {"comm-init", "ruru"},         {"comm-slow-link", "ruur"},
    {"comm-serialised", "rurr"}, {"comm-contention", "rurr"},   {"straggler", "ruur"},
    {"pipeline-bubble", "ruur"}, {"comm-exposed", "rurr"},      {"comm-bound", "rurr"},
    {"scaling", "2222"},
};

static const char *const reasons[CONDITIONS][2] = {
    {"needs GPU timing", "needs GPU timing"},
    {"events were lost", "state is unknown for"},
    {"some ranks of the job are not in the run", "some ranks of the job are not in the run"},
    {"the trace's recorder does not", "the trace's recorder does not"},
};

static void each_suspect_is_what_is_documented_where_something_is_missing(void **state)
{
    (void)state;
    const char *const *ids;
    assert_int_equal(gw_verdict_ids(&ids), sizeof documented / sizeof *documented);
    for (int c = 0; c < CONDITIONS; c++) {
        struct outcome outcome = {.model = run_with_signs((enum condition)c)};
        analyse(&outcome);
        for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
            const struct gw_verdict *verdict = find(&outcome, documented[i].id);
            const char wanted = documented[i].states[c];
            enum gw_verdict_state wanted_state = wanted == 'c'   ? GW_CONFIRMED
                                                 : wanted == 'r' ? GW_RULED_OUT
                                                                 : GW_UNKNOWN;
            bool reason = wanted == '2'   ? strstr(verdict->why, "two runs") != NULL
                          : wanted == 'u' ? strstr(verdict->why, reasons[c][0]) || strstr(verdict->why, reasons[c][1])
                                          : true;
            if (verdict->state != wanted_state || !reason)
                fail_msg("condition %d, %s: state %d, wanted %c: %s", c, verdict->id, verdict->state, wanted,
                         verdict->why);
        }
        release(&outcome);
    }
}

static void every_suspect_is_explained_for_both_frameworks(void **state)
{
    (void)state;
    const char *const *ids, *suspect, *explanation, *fix;
    size_t count = gw_verdict_ids(&ids);
    for (size_t i = 0; i < count; i++) {
        assert_true(gw_verdict_explain(ids[i], &suspect, &explanation, &fix));
        assert_true(*suspect && *explanation);
        if (!strstr(fix, "PyTorch") || !strstr(fix, "JAX"))
            fail_msg("%s: its fix has no spelling for PyTorch and JAX: %s", ids[i], fix);
        assert_int_equal(fix[strlen(fix) - 1], '.');
    }
    assert_false(gw_verdict_explain("no-such-suspect", &suspect, &explanation, &fix));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_judged_without_calls),
        cmocka_unit_test(nothing_is_judged_without_steps),
        cmocka_unit_test(nothing_is_ruled_out_where_events_were_lost),
        cmocka_unit_test(nothing_is_ruled_out_that_the_recorder_never_sees),
        cmocka_unit_test(each_suspect_is_what_is_documented_where_something_is_missing),
        cmocka_unit_test(every_suspect_is_explained_for_both_frameworks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
