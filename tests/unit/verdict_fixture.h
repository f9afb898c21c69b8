/* What the judges say of a model, for tests with cmocka, which is included before. */
#ifndef GW_TESTS_UNIT_VERDICT_FIXTURE_H
#define GW_TESTS_UNIT_VERDICT_FIXTURE_H

#include <string.h>

#include "analyzer/verdicts/verdicts.h"

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

#endif
