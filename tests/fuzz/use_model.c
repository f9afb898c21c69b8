#include "tests/fuzz/use_model.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/model/compiles.h"
#include "analyzer/model/copies.h"
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

static void use_copies(const struct gw_model *model)
{
    struct gw_copies copies;
    struct gw_compile *compiles = NULL;
    size_t count = 0;
    const int status = gw_copies_init(&copies, model);
    for (size_t d = 0; !status && d < copies.devices_count; d++) {
        for (int group = 0; group < GW_COPY_GROUP_COUNT; group++) {
            const struct gw_copy_sum *sum = &copies.devices[d].sums[group];
            must_hold(sum->exposed_ns <= sum->ns && sum->timed <= sum->count && sum->same + sum->back <= sum->count);
        }
    }
    gw_copies_release(&copies);
    if (gw_compiles_list(model, &compiles, &count) == 0) {
        for (size_t i = 0; i < count; i++) {
            must_hold(compiles[i].held_ns <= compiles[i].end_ns - compiles[i].begin_ns);
        }
    }
    free(compiles);
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
    use_copies(model);
}
