/*
 * Any bytes as a PyTorch profiler trace: the import refuses them or makes a model on which steps and budget can be
 * computed. The first byte says where the text is cut in two, so that tokens across pieces are met.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/model/import/kineto.h"
#include "analyzer/model/steps.h"
#include "analyzer/verdicts/budget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stays in builds without assertions. */
static void must_hold(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void use_model(struct gw_model *model)
{
    struct gw_budget *budget = NULL;
    for (size_t i = 1; i < model->calls_count; i++) {
        must_hold(model->calls[i - 1].begin_ns <= model->calls[i].begin_ns);
    }
    if (gw_steps_by_sequence(model) || gw_budget_create(model, &budget)) {
        return;
    }
    for (size_t i = 0; i < budget->cells_count; i++) {
        const struct gw_step *step = &model->steps[budget->cells[i].step];
        uint64_t sum = 0;
        for (int class = 0; class < GW_CLASS_COUNT; class ++) {
            sum += budget->cells[i].ns[class];
        }
        must_hold(sum == step->end_ns - step->begin_ns);
    }
    gw_budget_destroy(budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_kineto *kineto = NULL;
    struct gw_model *model = NULL;
    struct gw_error error;
    if (size == 0 || gw_kineto_create("fuzz.json", &error, &kineto)) {
        return 0;
    }
    size_t cut = data[0] < size ? data[0] : size - 1;
    data++;
    size--;
    if (gw_kineto_feed(kineto, data, cut) == 0 && gw_kineto_feed(kineto, data + cut, size - cut) == 0 &&
        gw_kineto_finish(kineto, &model) == 0) {
        use_model(model);
    }
    gw_model_destroy(model);
    gw_kineto_destroy(kineto);
    return 0;
}
