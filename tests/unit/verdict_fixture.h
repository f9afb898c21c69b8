/* What the judges say of a model, for tests with cmocka, which is included before. */
#ifndef GW_TESTS_UNIT_VERDICT_FIXTURE_H
#define GW_TESTS_UNIT_VERDICT_FIXTURE_H

#include <math.h>
#include <string.h>

#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"

struct outcome {
    struct gw_model *model; /* owned, like the rest */
    struct gw_budget *budget;
    struct gw_verdicts *verdicts;
    double mean_ms; /* of its steps, where the test says so */
};

/* Judges outcome->model. */
static inline void analyse(struct outcome *outcome)
{
    assert_int_equal(gw_budget_create(outcome->model, &outcome->budget), 0);
    assert_int_equal(gw_verdicts_create(outcome->model, outcome->budget, &outcome->verdicts), 0);
}

static inline void release(struct outcome *outcome)
{
    gw_verdicts_destroy(outcome->verdicts);
    gw_budget_destroy(outcome->budget);
    gw_model_destroy(outcome->model);
}

/* The test fails when there is no such verdict. */
static inline const struct gw_verdict *find(const struct outcome *outcome, const char *id)
{
    for (size_t i = 0; i < outcome->verdicts->list_count; i++) {
        if (strcmp(outcome->verdicts->list[i].id, id) == 0)
            return &outcome->verdicts->list[i];
    }
    fail_msg("no verdict %s", id);
    return NULL;
}

/* The test fails when the verdict is not this one, or its saving not within 10 % of that. */
static inline void expect(const struct outcome *outcome, const char *id, enum gw_verdict_state state, double saving_ms)
{
    const struct gw_verdict *verdict = find(outcome, id);
    if (verdict->state != state)
        fail_msg("%s: state %d, not %d: %s", id, verdict->state, state, verdict->why);
    if (state == GW_CONFIRMED && fabs(verdict->saving_ms - saving_ms) > 0.1 * saving_ms)
        fail_msg("%s: saving %.4f ms, not %.4f: %s", id, verdict->saving_ms, saving_ms, verdict->why);
}

/* Ends the script when its streams have, and judges. */
static inline void end_run(struct gw_script *script, struct outcome *outcome)
{
    for (int s = 0; s < 3; s++)
        script->now_ns = script->stream_end_ns[s] > script->now_ns ? script->stream_end_ns[s] : script->now_ns;
    struct gw_model *model = gw_script_end(script);
    model->steps[model->steps_count - 1].end_ns = script->now_ns;
    outcome->model = model;
    analyse(outcome);
}

#endif
