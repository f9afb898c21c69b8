#include "tests/unit/report_runs.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_fixture.h"

enum { STEPS = 12 };

static struct gw_model *scripted(bool faulty, bool steps, bool evaluates, bool goes_on)
{
    const struct gw_copy read = {
        .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PAGEABLE, .src = 0x9000, .size_bytes = 4, .blocking = true};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        if (steps)
            gw_script_step(&script, i < 2);
        for (int k = 0; k < 6; k++)
            gw_script_launch(&script, 1, "_Z7forwardPf", 100000);
        if (faulty)
            gw_script_copy(&script, 1, read, 2000);
        gw_script_think(&script, 200000);
        if (steps)
            gw_script_end_step(&script, i < 2);
        if (evaluates && i == 6) {
            gw_script_device_sync(&script);
            gw_script_think(&script, 3000000);
        }
    }
    for (int k = 0; goes_on && k < 6 * STEPS; k++)
        gw_script_launch(&script, 1, "_Z5otherPf", 100000);
    return gw_script_end(&script);
}

static struct gw_model *failing(void)
{
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        uint32_t call = gw_script_call(&script, "cudaMalloc", 2000);
        gw_fixture_model(script.fixture)->calls[call].result = 35;
    }
    return gw_script_end(&script);
}

/* Each step ends with a reduction by a kernel of the framework's own. */
static struct gw_model *own_kernels(void)
{
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        gw_script_step(&script, i < 2);
        for (int k = 0; k < 6; k++)
            gw_script_launch(&script, 1, "_Z7forwardPf", 100000);
        gw_script_launch(&script, 1, "all_reduce_start_fusion_1", 40000);
        gw_script_end_step(&script, i < 2);
    }
    struct gw_model *model = gw_script_end(&script);
    for (size_t i = 0; model && i < model->ops_count; i++) {
        if (gw_comm_kernel_library(model->names[model->ops[i].name]))
            model->ops[i].kind = GW_OP_COMM;
    }
    return model;
}

/* The faulty run without the GPU's times; lost_events: of them and others, 0 for none, GW_NONE for an unknown count. */
static struct gw_model *untimed(uint32_t lost_events)
{
    struct gw_model *model = scripted(true, true, false, false);
    for (size_t i = 0; model && i < model->ops_count; i++) {
        model->ops[i].start_ns = model->ops[i].end_ns = GW_TIME_UNKNOWN;
        model->ops[i].flags |= GW_OP_UNTIMED;
    }
    if (model && lost_events && (model->losses = calloc(1, sizeof(*model->losses)))) {
        model->losses[model->losses_count++] = (struct gw_loss){.begin_ns = model->steps[0].begin_ns,
                                                                .end_ns = model->run.end_ns,
                                                                .count = lost_events == GW_NONE ? 0 : lost_events};
    }
    return model;
}

bool report_run_create(struct report_run *ret_run, const char *name)
{
    struct report_run run = {0};
    if (strcmp(name, "faulty") == 0)
        run.model = scripted(true, true, false, false);
    else if (strcmp(name, "healthy") == 0)
        run.model = scripted(false, true, false, false);
    else if (strcmp(name, "stepless") == 0)
        run.model = scripted(false, false, false, false);
    else if (strcmp(name, "evaluating") == 0)
        run.model = scripted(true, true, true, false);
    else if (strcmp(name, "two-phases") == 0)
        run.model = scripted(true, true, false, true);
    else if (strcmp(name, "failing") == 0)
        run.model = failing();
    else if (strcmp(name, "own-kernels") == 0)
        run.model = own_kernels();
    else if (strcmp(name, "untimed") == 0)
        run.model = untimed(0);
    else if (strcmp(name, "overrun") == 0)
        run.model = untimed(100);
    else if (strcmp(name, "damaged") == 0)
        run.model = untimed(GW_NONE);
    else if (strcmp(name, "empty") == 0)
        run.model = gw_fixture_finish(gw_fixture_create());
    if (!run.model)
        return false;
    if (gw_budget_create(run.model, &run.budget) < 0 || gw_verdicts_create(run.model, run.budget, &run.verdicts) < 0) {
        report_run_release(&run);
        return false;
    }
    *ret_run = run;
    return true;
}

void report_run_release(struct report_run *run)
{
    gw_verdicts_destroy(run->verdicts);
    gw_budget_destroy(run->budget);
    gw_model_destroy(run->model);
}
