/*
 * The budget against its definition: random timelines are compared, nanosecond by nanosecond, with a slow reference
 * written from docs/budget.md and sharing no code with the sweep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/verdicts/budget.h"
#include "tests/unit/model_fixture.h"

enum { TIME_LIMIT = 3000, ROUNDS = 80 };

static unsigned seed;

static uint64_t draw(uint64_t limit)
{
    return (uint64_t)rand_r(&seed) % limit;
}

/* What is random about a timeline: kept apart from the model so that the same one can be built in two ways. */
struct plan {
    struct {
        uint64_t begin, end;
        int function;
    } calls[40];
    struct {
        int call, stream;
        enum gw_op_kind kind;
        uint64_t start, end;
    } ops[40];
    struct {
        uint64_t begin, end, cpu;
    } gaps[20];
    uint64_t loss_begin, loss_end;
    int calls_count, ops_count, gaps_count, streams;
    bool loss, untimed;
};

static const char *const functions[] = {
    "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc",    "cuModuleLoadData",
    "cudaMemcpy",       "cudaEventRecord",       "cudaGetDevice", "cudaGraphInstantiate"};

static void make_plan(struct plan *plan)
{
    *plan = (struct plan){.streams = 1 + (int)draw(3), .loss = draw(4) == 0, .untimed = draw(4) == 0};
    uint64_t now = draw(100);
    while (plan->calls_count < 30 && now < TIME_LIMIT - 300) {
        int i = plan->calls_count++;
        uint64_t length = 1 + draw(60);
        plan->calls[i].begin = now;
        plan->calls[i].end = now + length;
        plan->calls[i].function = (int)draw(sizeof functions / sizeof *functions);
        now += length;
        uint64_t pause = draw(3) ? draw(20) : draw(150);
        if (pause > 40)
            plan->gaps[plan->gaps_count++] =
                (typeof(plan->gaps[0])){now, now + pause, draw(3) ? draw(pause + 20) : draw(2) * pause};
        if (plan->gaps_count == 20)
            break;
        now += pause;
    }
    for (int i = 0; i < plan->calls_count; i++) {
        if (draw(3) == 0)
            continue;
        int o = plan->ops_count++;
        plan->ops[o].call = i;
        plan->ops[o].stream = (int)draw((uint64_t)plan->streams);
        plan->ops[o].kind = (enum gw_op_kind)draw(GW_OP_KIND_COUNT);
        plan->ops[o].start = plan->calls[i].begin + draw(200);
        plan->ops[o].end = plan->ops[o].start + (draw(10) ? draw(120) : 0);
        if (plan->untimed && draw(8) == 0)
            plan->ops[o].start = plan->ops[o].end = GW_TIME_UNKNOWN;
    }
    plan->loss_begin = draw(TIME_LIMIT);
    plan->loss_end = plan->loss_begin + draw(300);
}

/* split: each operation gets a stream of its own, in another order. */
static struct gw_model *build(const struct plan *plan, bool split)
{
    struct gw_fixture *fixture = gw_fixture_create();
    uint32_t thread = gw_fixture_thread(fixture, 100), device = gw_fixture_device(fixture, 0), calls[40];
    uint32_t streams = split ? 40 : (uint32_t)plan->streams;
    for (uint32_t s = 0; s < streams; s++)
        gw_fixture_stream(fixture, device, split ? 40 - s : s, 0);
    for (int i = 0; i < plan->calls_count; i++)
        calls[i] = gw_fixture_call(fixture, thread, functions[plan->calls[i].function], plan->calls[i].begin,
                                   plan->calls[i].end, 1);
    for (int i = 0; i < plan->ops_count; i++)
        gw_fixture_op(fixture, calls[plan->ops[i].call], split ? 39 - (uint32_t)i : (uint32_t)plan->ops[i].stream,
                      plan->ops[i].kind, plan->ops[i].start, plan->ops[i].end);
    for (int i = 0; i < plan->gaps_count; i++)
        gw_fixture_gap(fixture, thread, plan->gaps[i].begin, plan->gaps[i].end, plan->gaps[i].cpu);
    if (plan->loss)
        gw_fixture_loss(fixture, plan->loss_begin, plan->loss_end, 5);
    uint64_t at = 50;
    for (int i = 0; i < 6; i++) {
        gw_fixture_step(fixture, at, at + 300 + (uint64_t)i * 7, i == 0);
        at += 300 + (uint64_t)i * 7;
    }
    return gw_fixture_finish(fixture);
}

/* ---- the reference ---- */

static bool runs(const struct gw_op *op, uint64_t t)
{
    return op->kind != GW_OP_HOST && !(op->flags & GW_OP_UNTIMED) && op->start_ns <= t && t < op->end_ns;
}

static enum gw_class busy_class(const struct gw_model *model, uint64_t t)
{
    static const struct {
        enum gw_op_kind kind;
        enum gw_class cls;
    } order[] = {{GW_OP_KERNEL, GW_CLASS_COMPUTE},    {GW_OP_MEMSET, GW_CLASS_COMPUTE}, {GW_OP_GRAPH, GW_CLASS_COMPUTE},
                 {GW_OP_COMM, GW_CLASS_COMM_EXPOSED}, {GW_OP_H2D, GW_CLASS_COPY_H2D},   {GW_OP_D2H, GW_CLASS_COPY_D2H},
                 {GW_OP_D2D, GW_CLASS_COPY_D2D},      {GW_OP_P2P, GW_CLASS_COPY_P2P}};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (size_t i = 0; i < model->ops_count; i++) {
            if (model->ops[i].kind == order[k].kind && runs(&model->ops[i], t))
                return order[k].cls;
        }
    }
    return GW_CLASS_COUNT;
}

/* Times just before which the device may change state without being busy: an operation of no length. */
static bool point_at(const struct gw_model *model, uint64_t t)
{
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind != GW_OP_HOST && !(op->flags & GW_OP_UNTIMED) && op->start_ns == t && op->end_ns == t)
            return true;
    }
    return false;
}

static enum gw_class outside_class(const struct gw_model *model, uint64_t t, uint64_t piece_from, uint64_t piece_to)
{
    for (size_t i = 0; i < model->thread_gaps_count; i++) {
        const struct gw_thread_gap *gap = &model->thread_gaps[i];
        if (t < gap->begin_ns || t >= gap->end_ns)
            continue;
        uint64_t length = gap->end_ns - gap->begin_ns, cpu = gap->cpu_ns < length ? gap->cpu_ns : length;
        if (cpu * 100 >= length * 95)
            return GW_CLASS_IDLE_HOST;
        if (cpu * 100 <= length * 5)
            return GW_CLASS_IDLE_BLOCKED;
        uint64_t from = piece_from > gap->begin_ns ? piece_from : gap->begin_ns;
        uint64_t to = piece_to < gap->end_ns ? piece_to : gap->end_ns;
        uint64_t on = cpu * (to - gap->begin_ns) / length - cpu * (from - gap->begin_ns) / length;
        return t < from + on ? GW_CLASS_IDLE_HOST : GW_CLASS_IDLE_BLOCKED;
    }
    return GW_CLASS_IDLE_HOST;
}

static enum gw_class call_class(const struct gw_model *model, const struct gw_call *call)
{
    (void)model;
    switch (gw_call_class(call->function)) {
    case GW_CALL_SYNC:
        return GW_CLASS_IDLE_SYNC;
    case GW_CALL_ALLOC:
        return GW_CLASS_IDLE_ALLOC;
    case GW_CALL_COMPILE:
        return GW_CLASS_IDLE_COMPILE;
    case GW_CALL_COPY:
        return GW_CLASS_IDLE_COPY_CALL;
    case GW_CALL_GRAPH:
        return GW_CLASS_IDLE_GRAPH;
    default:
        return GW_CLASS_IDLE_API;
    }
}

static enum gw_class host_class(const struct gw_model *model, uint64_t t, uint64_t from, uint64_t to)
{
    uint64_t piece_from = from, piece_to = to;
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        if (call->begin_ns <= t && t < call->end_ns)
            return call_class(model, call);
        if (call->end_ns <= t && call->end_ns > piece_from)
            piece_from = call->end_ns;
        if (call->begin_ns > t && call->begin_ns < piece_to)
            piece_to = call->begin_ns;
    }
    return outside_class(model, t, piece_from, piece_to);
}

static bool foggy(const struct gw_model *model, uint64_t t)
{
    for (size_t i = 0; i < model->losses_count; i++) {
        if (model->losses[i].begin_ns <= t && t < model->losses[i].end_ns)
            return true;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (!(op->flags & GW_OP_UNTIMED) || op->kind == GW_OP_HOST)
            continue;
        uint64_t after = model->calls[op->call].begin_ns, before = UINT64_MAX;
        for (size_t j = 0; j < model->ops_count; j++) {
            const struct gw_op *other = &model->ops[j];
            if (other->stream != op->stream || other->kind == GW_OP_HOST || other->flags & GW_OP_UNTIMED)
                continue;
            if (j < i && other->end_ns > after)
                after = other->end_ns;
            if (j > i && other->start_ns < before)
                before = other->start_ns;
        }
        if (after <= t && t < before)
            return true;
    }
    return false;
}

static enum gw_class reference_class(const struct gw_model *model, uint64_t latency, uint64_t t, uint64_t limit)
{
    enum gw_class busy = busy_class(model, t);
    if (busy != GW_CLASS_COUNT)
        return busy;
    if (foggy(model, t))
        return GW_CLASS_IDLE_UNKNOWN;
    uint64_t a = t, b = t + 1;
    while (a > 0 && !point_at(model, a) && busy_class(model, a - 1) == GW_CLASS_COUNT)
        a--;
    while (b < limit && !point_at(model, b) && busy_class(model, b) == GW_CLASS_COUNT)
        b++;
    const struct gw_op *next = NULL;
    for (size_t i = 0; i < model->ops_count && b < limit; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind == GW_OP_HOST || op->flags & GW_OP_UNTIMED || op->start_ns != b)
            continue;
        bool point = op->end_ns == op->start_ns, next_point = next && next->end_ns == next->start_ns;
        if (!next || (point && !next_point))
            next = op;
    }
    if (!next)
        return model->ops_count ? host_class(model, t, a, b) : GW_CLASS_IDLE_UNKNOWN;
    uint64_t launch = model->calls[next->call].begin_ns;
    if (launch < a)
        return t >= b - (latency < b - a ? latency : b - a) ? GW_CLASS_IDLE_LATENCY : GW_CLASS_IDLE_DEPENDENCY;
    return t < launch ? host_class(model, t, a, launch < b ? launch : b) : GW_CLASS_IDLE_LAUNCH;
}

static void compare(const struct gw_model *model, const struct gw_budget *budget, unsigned round_seed)
{
    uint64_t limit = model->run.end_ns;
    for (size_t c = 0; c < budget->cells_count; c++) {
        const struct gw_step_budget *cell = &budget->cells[c];
        const struct gw_interval *step = &budget->times[cell->step];
        uint64_t wanted[GW_CLASS_COUNT] = {0}, sum = 0;
        for (uint64_t t = step->begin_ns; t < step->end_ns; t++)
            wanted[reference_class(model, budget->launch_latency_ns, t, limit)]++;
        for (int k = 0; k < GW_CLASS_COUNT; k++) {
            sum += cell->ns[k];
            if (cell->ns[k] != wanted[k])
                fail_msg("seed %u, step %u, %s: %lu ns, the definition gives %lu", round_seed, cell->step,
                         gw_class_name((enum gw_class)k), (unsigned long)cell->ns[k], (unsigned long)wanted[k]);
        }
        if (sum != step->end_ns - step->begin_ns)
            fail_msg("seed %u, step %u: classes sum to %lu of %lu ns", round_seed, cell->step, (unsigned long)sum,
                     (unsigned long)(step->end_ns - step->begin_ns));
    }
}

static void check_gaps(const struct gw_budget *budget, unsigned round_seed)
{
    for (size_t i = 0; i < budget->gaps_count; i++) {
        const struct gw_gap *gap = &budget->gaps[i];
        if (gap->begin_ns >= gap->end_ns || gap->cls < GW_CLASS_IDLE_DEPENDENCY || gap->cls >= GW_CLASS_COUNT)
            fail_msg("seed %u: gap %zu is empty or not idle", round_seed, i);
        if (i && gap[-1].device == gap->device && gap[-1].end_ns > gap->begin_ns)
            fail_msg("seed %u: gaps %zu and %zu overlap", round_seed, i - 1, i);
    }
}

/* Unknown time may go on where it was not looked into. */
static bool is_same_gap(const struct gw_gap *found, const struct gw_gap *gap)
{
    if (found->device != gap->device || found->cls != gap->cls || found->call != gap->call)
        return false;
    if (gap->cls == GW_CLASS_IDLE_UNKNOWN)
        return found->begin_ns <= gap->begin_ns && found->end_ns >= gap->end_ns;
    return found->begin_ns == gap->begin_ns && found->end_ns == gap->end_ns && found->next_op == gap->next_op;
}

/* Looked at from steps only, every gap that reaches into one is the same, and so is the time between. */
static void compare_within_steps(const struct gw_model *model, const struct gw_budget *whole,
                                 const struct gw_budget *steps, unsigned round_seed)
{
    size_t at = 0;
    uint64_t whole_ns = 0, steps_ns = 0;
    assert_int_equal(steps->cells_count, whole->cells_count);
    for (size_t c = 0; c < whole->cells_count; c++)
        assert_memory_equal(steps->cells[c].ns, whole->cells[c].ns, sizeof whole->cells[c].ns);
    for (size_t i = 0; i < steps->gaps_count; i++)
        steps_ns += steps->gaps[i].end_ns - steps->gaps[i].begin_ns;
    for (size_t i = 0; i < whole->gaps_count; i++) {
        const struct gw_gap *gap = &whole->gaps[i];
        whole_ns += gap->end_ns - gap->begin_ns;
        bool inside = false;
        for (size_t s = 0; s < model->steps_count; s++)
            inside |= gap->begin_ns < whole->times[s].end_ns && gap->end_ns > whole->times[s].begin_ns &&
                      model->steps[s].process == model->devices[gap->device].process;
        while (inside && at < steps->gaps_count && !is_same_gap(&steps->gaps[at], gap))
            at++;
        if (at == steps->gaps_count)
            fail_msg("seed %u: gap %zu reaches into a step and is not found from there", round_seed, i);
    }
    assert_int_equal(steps_ns, whole_ns);
}

static void random_timelines_match_the_definition(void **state)
{
    (void)state;
    const char *given = getenv("GW_TEST_SEED");
    unsigned first = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    print_message("first seed %u (GW_TEST_SEED repeats it)\n", first);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct plan plan;
        struct gw_budget *budget = NULL, *of_steps = NULL;
        seed = first + round;
        make_plan(&plan);
        struct gw_model *model = build(&plan, false);
        assert_int_equal(gw_budget_create(model, &budget), 0);
        assert_int_equal(budget->cells_count, 6);
        compare(model, budget, first + round);
        check_gaps(budget, first + round);
        assert_int_equal(gw_budget_create_of_steps(model, &of_steps), 0);
        check_gaps(of_steps, first + round);
        compare_within_steps(model, budget, of_steps, first + round);
        gw_budget_destroy(of_steps);
        gw_budget_destroy(budget);
        gw_model_destroy(model);
    }
}

static void streams_do_not_matter_to_the_union(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct plan plan;
        struct gw_budget *one = NULL, *other = NULL;
        seed = 7000 + round;
        make_plan(&plan);
        for (int i = 0; i < plan.ops_count; i++) { /* where untimed work may have run does depend on streams */
            if (plan.ops[i].start == GW_TIME_UNKNOWN)
                plan.ops[i].start = plan.ops[i].end = plan.calls[plan.ops[i].call].begin;
        }
        struct gw_model *model = build(&plan, false), *split = build(&plan, true);
        assert_int_equal(gw_budget_create(model, &one), 0);
        assert_int_equal(gw_budget_create(split, &other), 0);
        for (size_t c = 0; c < one->cells_count; c++)
            assert_memory_equal(one->cells[c].ns, other->cells[c].ns, sizeof one->cells[c].ns);
        gw_budget_destroy(one);
        gw_budget_destroy(other);
        gw_model_destroy(model);
        gw_model_destroy(split);
    }
}

static uint64_t total(const struct gw_budget *budget, enum gw_class cls)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < budget->cells_count; i++)
        sum += budget->cells[i].ns[cls];
    return sum;
}

static void timing_off_says_unknown(void **state)
{
    (void)state;
    struct gw_script script;
    struct gw_budget *budget = NULL;
    gw_script_begin(&script);
    for (int i = 0; i < 4; i++) {
        gw_script_step(&script, false);
        gw_script_think(&script, 100000); /* before the first kernel too */
        uint32_t call = gw_script_call(&script, "cudaLaunchKernel", 2000);
        gw_fixture_op(script.fixture, call, script.streams[1], GW_OP_KERNEL, GW_TIME_UNKNOWN, GW_TIME_UNKNOWN);
    }
    gw_script_end_step(&script, false);
    struct gw_model *model = gw_script_end(&script);
    model->timing = GW_TIMING_OFF;
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_int_equal(total(budget, GW_CLASS_IDLE_UNKNOWN), 4 * 102000);
    assert_false(budget->launch_latency_measured);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

/* What a graph did inside its replay is not known. */
static void graphs_are_opaque(void **state)
{
    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        struct gw_script script;
        struct gw_budget *budget = NULL;
        gw_script_begin(&script);
        for (int i = 0; i < 3; i++) {
            gw_script_step(&script, false);
            uint32_t call = gw_script_call(&script, graph ? "cudaGraphLaunch" : "cudaLaunchKernel", 2000);
            gw_fixture_op(script.fixture, call, script.streams[1], graph ? GW_OP_GRAPH : GW_OP_KERNEL, script.now_ns,
                          script.now_ns + 10000);
            gw_script_think(&script, 50000);
        }
        gw_script_end_step(&script, false);
        struct gw_model *model = gw_script_end(&script);
        assert_int_equal(gw_budget_create(model, &budget), 0);
        assert_int_equal(total(budget, GW_CLASS_COMPUTE), 3 * 10000);
        for (size_t i = 0; i < budget->cells_count; i++)
            assert_int_equal(budget->cells[i].opaque, graph && !budget->cells[i].unused);
        gw_budget_destroy(budget);
        gw_model_destroy(model);
    }
}

static void latency_and_median_are_measured(void **state)
{
    (void)state;
    struct gw_script script;
    struct gw_budget *budget = NULL;
    gw_script_begin(&script);
    for (int i = 0; i < 5; i++) {
        gw_script_step(&script, i == 0);
        gw_script_launch(&script, 1, "k", 10000);
        gw_script_stream_sync(&script, 1);
        gw_script_think(&script, 50000 + (uint64_t)i * 1000);
        gw_script_end_step(&script, i == 0);
    }
    struct gw_model *model = gw_script_end(&script);
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_true(budget->launch_latency_measured);
    assert_int_equal(budget->launch_latency_ns, GW_SCRIPT_LATENCY_NS);
    assert_int_equal(budget->analysed_steps, 4);
    assert_int_equal(budget->median_step, 2);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

/* Launches that meet an idle device reach it after 1, 2, … 20 us: most of these times are waits for something else. */
static void latency_is_the_lowest_tenth(void **state)
{
    (void)state;
    enum { LAUNCHES = 20 };
    struct gw_fixture *fixture = gw_fixture_create();
    struct gw_budget *budget = NULL;
    uint32_t thread = gw_fixture_thread(fixture, 1), device = gw_fixture_device(fixture, 0);
    uint32_t stream = gw_fixture_stream(fixture, device, 1, 0);
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        uint64_t begin_ns = 1000 + i * 50000, start_ns = begin_ns + 1000 * (LAUNCHES - i);
        uint32_t call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", begin_ns, begin_ns + 500, 1);
        gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, start_ns, start_ns + 10000);
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_true(budget->launch_latency_measured);
    assert_int_equal(budget->launch_latency_ns, 3000);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

/* A step is one process's: what another's device does meanwhile is no part of it. */
static void devices_of_others_have_no_part_in_a_step(void **state)
{
    (void)state;
    struct gw_fixture *fixture = gw_fixture_create();
    struct gw_budget *budget = NULL;
    uint32_t thread = gw_fixture_thread(fixture, 1);
    for (uint32_t d = 0; d < 2; d++) {
        uint32_t stream = gw_fixture_stream(fixture, gw_fixture_device(fixture, d), 1, 0);
        uint32_t call = gw_fixture_call(fixture, thread, "cudaLaunchKernel", 1000 + 1000 * d, 1500 + 1000 * d, 1);
        gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, 5000, 8000);
    }
    gw_fixture_step(fixture, 1000, 9000, false);
    struct gw_model *model = gw_fixture_finish(fixture);
    model->processes = realloc(model->processes, 2 * sizeof *model->processes);
    assert_non_null(model->processes);
    model->processes[1] = (struct gw_process){.pid = 2};
    model->processes_count = 2;
    model->devices[1].process = 1;
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_int_equal(budget->cells_count, 1);
    assert_int_equal(budget->cells[0].device, 0);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

/* The host enqueues a step in 52 us that the device needs 1 ms for: a step takes 1 ms. */
static void steps_of_a_host_that_runs_away_are_the_devices(void **state)
{
    (void)state;
    struct gw_script script;
    struct gw_budget *budget = NULL;
    gw_script_begin(&script);
    for (int i = 0; i < 5; i++) {
        gw_script_step(&script, i == 0);
        gw_script_launch(&script, 1, "k", 1000000);
        gw_script_think(&script, 50000);
        gw_script_end_step(&script, i == 0);
    }
    struct gw_model *model = gw_script_end(&script);
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_int_equal(budget->cells_count, 5);
    for (size_t i = 1; i < budget->cells_count; i++) {
        assert_int_equal(budget->cells[i].ns[GW_CLASS_COMPUTE], 1000000);
        assert_int_equal(budget->times[i].end_ns - budget->times[i].begin_ns, 1000000);
        assert_int_equal(budget->times[i].begin_ns, budget->times[i - 1].end_ns);
    }
    assert_int_equal(total(budget, GW_CLASS_COMPUTE), 5000000);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

/* It gains two steps at the begin and keeps them: a mean over its own steps would be a sixth too low. */
static void steps_of_a_host_that_is_ahead_are_the_devices(void **state)
{
    (void)state;
    struct gw_script script;
    struct gw_budget *budget = NULL;
    gw_script_begin(&script);
    for (int i = 0; i < 13; i++) {
        gw_script_step(&script, i == 0);
        gw_script_launch(&script, 1, "k", 1000000);
        gw_script_think(&script, 50000);
        if (script.stream_end_ns[1] > script.now_ns + 2500000)
            gw_script_think(&script, script.stream_end_ns[1] - 2500000 - script.now_ns);
        gw_script_end_step(&script, i == 0);
    }
    struct gw_model *model = gw_script_end(&script);
    assert_true(model->steps[12].end_ns - model->steps[1].begin_ns < 11000000);
    assert_int_equal(gw_budget_create(model, &budget), 0);
    for (size_t i = 1; i < budget->cells_count; i++)
        assert_int_equal(budget->times[i].end_ns - budget->times[i].begin_ns, 1000000);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

static void nothing_in_the_trace_gives_nothing(void **state)
{
    (void)state;
    struct gw_budget *budget = NULL;
    struct gw_model *model = gw_fixture_finish(gw_fixture_create());
    assert_int_equal(gw_budget_create(model, &budget), 0);
    assert_int_equal(budget->cells_count, 0);
    assert_int_equal(budget->gaps_count, 0);
    assert_int_equal(budget->median_step, GW_NONE);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_timelines_match_the_definition),
        cmocka_unit_test(streams_do_not_matter_to_the_union),
        cmocka_unit_test(timing_off_says_unknown),
        cmocka_unit_test(graphs_are_opaque),
        cmocka_unit_test(latency_and_median_are_measured),
        cmocka_unit_test(latency_is_the_lowest_tenth),
        cmocka_unit_test(devices_of_others_have_no_part_in_a_step),
        cmocka_unit_test(steps_of_a_host_that_runs_away_are_the_devices),
        cmocka_unit_test(steps_of_a_host_that_is_ahead_are_the_devices),
        cmocka_unit_test(nothing_in_the_trace_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
