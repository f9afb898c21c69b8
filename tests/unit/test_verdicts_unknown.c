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
        cmocka_unit_test(every_suspect_is_explained_for_both_frameworks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
