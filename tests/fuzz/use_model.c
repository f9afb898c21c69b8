#include "tests/fuzz/use_model.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/model/steps.h"
#include "analyzer/verdicts/budget.h"
#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/verdicts.h"

static void must_hold(bool condition)
{
    if (!condition) {
        abort();
    }
}

void gw_fuzz_use_model(struct gw_model *model)
{
    struct gw_budget *budget = NULL;
    for (size_t i = 1; i < model->calls_count; i++) {
        must_hold(model->calls[i - 1].begin_ns <= model->calls[i].begin_ns);
    }
    if ((!model->steps_count && gw_steps_by_sequence(model)) || gw_budget_create(model, &budget)) {
        return;
    }
    for (size_t i = 0; i < budget->cells_count; i++) {
        const struct gw_interval *time = &budget->times[budget->cells[i].step];
        uint64_t sum = 0;
        for (int class = 0; class < GW_CLASS_COUNT; class ++) {
            sum += budget->cells[i].ns[class];
        }
        must_hold(time->begin_ns <= time->end_ns && sum == time->end_ns - time->begin_ns);
    }
    struct gw_verdicts *verdicts = NULL;
    if (gw_verdicts_create(model, budget, &verdicts) == 0) {
        for (size_t i = 0; i < verdicts->list_count; i++) {
            must_hold(verdicts->list[i].why != NULL);
        }
    }
    gw_verdicts_destroy(verdicts);
    gw_budget_destroy(budget);
}
