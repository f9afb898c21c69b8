#include "tests/plots/plot_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/functions.h"
#include "tests/unit/model_fixture.h"

#define WARMUP 3u
#define LAYERS 6

/* Verdicts are made by hand: what is drawn must not hang on what the judges find in a fixture. */
static struct gw_verdict fixed[] = {
    {.id = "host-sync",
     .suspect = "scalar reads, .item(), nonzero, clipping",
     .state = GW_CONFIRMED,
     .saving_ms = 0.214,
     .saving_percent = 12.1,
     .why = "Each step reads 4 bytes with cudaMemcpy and then waits for the GPU to drain; the next step's work is "
            "enqueued "
            "only after that, so the GPU is idle for 214 µs a step while the host prepares it, in 50 of 50 steps.",
     .fix = "Read the loss every 25th step, or copy it asynchronously into page-locked memory and look at it one step "
            "later."},
    {.id = "pageable-copy",
     .suspect = "unpinned memory",
     .state = GW_CONFIRMED,
     .saving_ms = 0.09,
     .saving_percent = 5.1,
     .why = "2 MiB a step are uploaded from pageable memory at 11 GB/s.",
     .fix = "Upload from page-locked memory (pin_memory=True)."},
    {.id = "alloc-churn", .suspect = "allocation in the loop", .state = GW_RULED_OUT},
    {.id = "scaling", .suspect = "1 to n devices", .state = GW_UNKNOWN},
};

static struct gw_verdicts fixed_verdicts = {.list = fixed, .list_count = sizeof(fixed) / sizeof(fixed[0])};
static struct gw_verdicts no_verdicts = {.list = fixed + 2, .list_count = 2};

static void judge(struct plot_fixture *fixture, struct gw_verdicts *verdicts)
{
    if (gw_budget_create(fixture->model, &fixture->budget) != 0)
        abort();
    fixture->source = (struct gw_plot_source){.model = fixture->model, .budget = fixture->budget, .verdicts = verdicts};
}

void plot_fixture_destroy(struct plot_fixture *fixture)
{
    gw_diff_side_destroy(fixture->side);
    gw_diff_side_destroy(fixture->against);
    gw_budget_destroy(fixture->budget);
    gw_model_destroy(fixture->model);
    memset(fixture, 0, sizeof(*fixture));
}

/* The runtime's launch calls the driver's: a call at depth 2 within the last one. */
static void nest(struct gw_script *script, uint32_t call, const char *function)
{
    struct gw_model *model = gw_fixture_model(script->fixture);
    uint64_t begin_ns = model->calls[call].begin_ns, end_ns = model->calls[call].end_ns;
    uint64_t rim_ns = (end_ns - begin_ns) / 10;

    gw_fixture_call(script->fixture, script->thread, function, begin_ns + rim_ns, end_ns - rim_ns, 2);
}

static void train(struct gw_script *script, unsigned int step, unsigned int factor)
{
    struct gw_copy upload = {
        .size_bytes = 2 << 20, .direction = GW_COPY_H2D, .src_kind = GW_HOST_PAGEABLE, .blocking = true};
    struct gw_copy read = {.size_bytes = 4, .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PAGEABLE, .blocking = true};
    static const char *const forward = "_Z15forward_spin_nsyPfPKf", *const backward = "_Z16backward_spin_nsyPf";
    static const char *const gradient = "_Z23weight_gradient_spin_nsyPf", *const optimizer =
                                                                              "_Z17optimizer_spin_nsyPfS_";
    uint32_t call;

    gw_script_think(script, 150000 + step % 7 * 9000);
    if (step % 10 == 4)
        gw_script_blocked(script, 220000);
    gw_script_copy(script, 1, upload, 190000 + step % 5 * 2000);
    for (int layer = 0; layer < LAYERS; layer++) {
        call = gw_script_launch(script, 1, forward, factor * (45000u + (unsigned int)layer * 9000u));
        nest(script, call, "cuLaunchKernel");
        gw_script_think(script, 9000);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        gw_script_launch(script, 1, backward, factor * (80000u + (unsigned int)layer * 15000u));
        gw_script_record(script, 1);
        gw_script_wait(script, 2);
        gw_script_launch(script, 2, gradient, factor * (50000u + (unsigned int)layer * 8000u));
    }
    gw_script_record(script, 2);
    gw_script_wait(script, 1);
    gw_script_launch(script, 1, optimizer, 120000);
    gw_script_copy(script, 1, read, 3000);
}

void plot_fixture_training(struct plot_fixture *fixture, unsigned int steps)
{
    struct gw_script script;

    memset(fixture, 0, sizeof(*fixture));
    gw_script_begin(&script);
    for (unsigned int step = 0; step < WARMUP + steps; step++) {
        script.step_begin_ns = script.now_ns;
        if (step < WARMUP)
            gw_script_call(&script, "cudaMalloc", 900000);
        train(&script, step, step < WARMUP ? 2 : 1);
        gw_script_end_step(&script, step < WARMUP);
    }
    fixture->model = gw_script_end(&script);
    free(fixture->model->run.command[0]);
    fixture->model->run.command[0] = strdup("build/examples/train_loop");
    fixture->model->run.realtime_offset_ns = 1788000000ll * 1000000000ll;
    judge(fixture, &fixed_verdicts);
}

static struct gw_diff_side *sum_up(const struct plot_fixture *fixture)
{
    struct gw_diff_side *side;

    if (gw_diff_side_create(fixture->model, fixture->budget, fixture->source.verdicts, 1.0, &side) != 0)
        abort();
    return side;
}

void plot_fixture_pair(struct plot_fixture *fixture)
{
    struct plot_fixture other;
    struct gw_diff_side *against;

    plot_fixture_ranks(&other, 4, 40);
    against = sum_up(&other);
    plot_fixture_destroy(&other);
    plot_fixture_training(fixture, 50);
    fixture->side = sum_up(fixture);
    fixture->against = against;
    fixture->source.side = fixture->side;
    fixture->source.against = fixture->against;
    fixture->source.unit = "step";
}

void plot_fixture_many(struct plot_fixture *fixture, unsigned int count)
{
    struct gw_fixture *made = gw_fixture_create();
    struct gw_model *model = gw_fixture_model(made);
    uint32_t thread = gw_fixture_thread(made, 100), device = gw_fixture_device(made, 0);
    uint32_t stream = gw_fixture_stream(made, device, 7, 0);

    memset(fixture, 0, sizeof(*fixture));
    /* The fixture grows its arrays by one element at a time; millions want them at once. */
    model->calls = calloc(count, sizeof(*model->calls));
    model->ops = calloc(count, sizeof(*model->ops));
    if (!model->calls || !model->ops)
        abort();
    for (unsigned int i = 0; i < count; i++) {
        uint64_t begin_ns = 1000000 + (uint64_t)i * 2000;
        model->calls[i] = (struct gw_call){.begin_ns = begin_ns,
                                           .end_ns = begin_ns + 900,
                                           .function = GW_FUNCTION_cudaLaunchKernel,
                                           .thread = thread,
                                           .detail = GW_NONE,
                                           .depth = 1};
        model->ops[i] = (struct gw_op){.start_ns = begin_ns + 1100 + i % 13,
                                       .end_ns = begin_ns + 2200 + i % 17,
                                       .stream = stream,
                                       .call = i,
                                       .outer_call = i,
                                       .name = GW_NONE,
                                       .graph_node = GW_NONE};
    }
    model->calls_count = model->ops_count = count;
    gw_fixture_step(made, 1000000, 1000000 + (uint64_t)count * 2000 + 3000, false);
    fixture->model = gw_fixture_finish(made);
    judge(fixture, &no_verdicts);
}

void plot_fixture_empty(struct plot_fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->model = gw_fixture_finish(gw_fixture_create());
    judge(fixture, &no_verdicts);
}

void plot_fixture_untimed(struct plot_fixture *fixture)
{
    struct gw_fixture *made = gw_fixture_create();
    uint32_t thread = gw_fixture_thread(made, 100), device = gw_fixture_device(made, 0);
    uint32_t stream = gw_fixture_stream(made, device, 7, 0);

    memset(fixture, 0, sizeof(*fixture));
    gw_fixture_model(made)->timing = GW_TIMING_OFF;
    for (unsigned int i = 0; i < 30; i++) {
        uint64_t begin_ns = 1000000 + (uint64_t)i * 100000;
        uint32_t call = gw_fixture_call(made, thread, "cudaLaunchKernel", begin_ns, begin_ns + 20000, 1);
        gw_fixture_op(made, call, stream, GW_OP_KERNEL, GW_TIME_UNKNOWN, GW_TIME_UNKNOWN);
    }
    fixture->model = gw_fixture_finish(made);
    judge(fixture, &no_verdicts);
}

void plot_fixture_crowded(struct plot_fixture *fixture)
{
    struct gw_fixture *made = gw_fixture_create();
    uint32_t device = gw_fixture_device(made, 0);
    char name[128];

    memset(fixture, 0, sizeof(*fixture));
    gw_fixture_model(made)->run.discarded_events = 1234567;
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t thread = gw_fixture_thread(made, 1000000 + i), stream = gw_fixture_stream(made, device, i + 1, 0);
        for (uint32_t k = 0; k < 20; k++) {
            uint64_t begin_ns = 1000000 + (uint64_t)k * 500000 + i * 7000;
            uint32_t call = gw_fixture_call(made, thread, "cudaLaunchKernel", begin_ns, begin_ns + 30000, 1);
            uint32_t op =
                gw_fixture_op(made, call, stream, GW_OP_KERNEL, begin_ns + 40000, begin_ns + 40000 + 9000 * (i + 1));
            snprintf(name, sizeof(name),
                     k % 5 ? "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn_variant_%u"
                           : "größe_µ_矩陣_матрица_\xff_variant_%u",
                     (i + k) % 16);
            gw_fixture_op_name(made, op, name);
        }
    }
    fixture->model = gw_fixture_finish(made);
    judge(fixture, &no_verdicts);
}
