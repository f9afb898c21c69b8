/*
 * Loads, links and compilers in processes of their own, as the model lists them and recompile judges them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/compiles.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

enum { STEPS = 12, WARMUP = 2 };
#define MS(ms) ((uint64_t)(ms)*1000000u)

/* Adds a compiler to the model; thread GW_NONE: one that makes no calls. */
static void executed(struct gw_model *model, const char *name, uint64_t begin_ns, uint64_t end_ns, uint32_t thread,
                     uint64_t hash)
{
    model->compilers = reallocarray(model->compilers, model->compilers_count + 1, sizeof *model->compilers);
    assert_non_null(model->compilers);
    struct gw_compiler *compiler = &model->compilers[model->compilers_count++];
    *compiler = (struct gw_compiler){.begin_ns = begin_ns,
                                     .end_ns = end_ns,
                                     .input_bytes = hash ? 1000 : 0,
                                     .input_hash = hash,
                                     .thread = thread,
                                     .pid = 4000 + (uint32_t)model->compilers_count};
    strcpy(compiler->name, name);
}

static void load(struct gw_fixture *fixture, uint32_t call, uint64_t hash, uint64_t image)
{
    struct gw_model *model = gw_fixture_model(fixture);
    model->modules = reallocarray(model->modules, model->modules_count + 1, sizeof *model->modules);
    assert_non_null(model->modules);
    model->calls[call].detail_kind = GW_DETAIL_MODULE;
    model->calls[call].detail = (uint32_t)model->modules_count;
    model->modules[model->modules_count++] = (struct gw_module){.size_bytes = 500, .hash = hash, .image = image};
}

static const struct gw_compile *find_name(const struct gw_model *model, const struct gw_compile *list, size_t count,
                                          const char *name, size_t nth)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(gw_compile_name(model, &list[i]), name) == 0 && nth-- == 0)
            return &list[i];
    }
    fail_msg("no %s", name);
    return NULL;
}

static void test_list(void **state)
{
    struct gw_fixture *fixture = gw_fixture_create();
    struct gw_compile *list = NULL;
    size_t count = 0;
    (void)state;
    gw_fixture_thread(fixture, 7);
    gw_fixture_device(fixture, 0);
    gw_fixture_stream(fixture, 0, 1, 0);
    /* A runtime's load and the driver's within it are one; the image is told by the inner one. */
    gw_fixture_call(fixture, 0, "cudaLibraryLoadData", 1000, 2000, 1);
    load(fixture, gw_fixture_call(fixture, 0, "cuLibraryLoadData", 1100, 1900, 2), 5, GW_IMAGE_FAT_BINARY);
    load(fixture, gw_fixture_call(fixture, 0, "cuModuleLoadData", 3000, 4000, 1), 6, GW_IMAGE_PTX);
    load(fixture, gw_fixture_call(fixture, 0, "cuModuleLoadData", 5000, 5100, 1), 5, GW_IMAGE_CUBIN);
    gw_fixture_call(fixture, 0, "cuModuleUnload", 6000, 6100, 1);
    gw_fixture_call(fixture, 0, "cuLinkCreate", 7000, 7100, 1);
    gw_fixture_call(fixture, 0, "cuLinkComplete", 8000, 8200, 1);
    /* A kernel that is loaded when it is launched. */
    gw_fixture_op(fixture, gw_fixture_call(fixture, 0, "cudaLaunchKernel", 9000, 9500, 1), 0, GW_OP_KERNEL, 9600, 9700);
    gw_fixture_call(fixture, 0, "cuLibraryGetKernel", 9100, 9200, 2);
    struct gw_model *model = gw_fixture_finish(fixture);
    executed(model, "ptxas", 2500, 3500, 0, 9);       /* 2000 … 3000 is a pause: 500 of it */
    executed(model, "ptxas", 5500, 5900, GW_NONE, 9); /* that of the thread with most calls */
    executed(model, "gcc", 5500, 5900, 0, 9);         /* another compiler: new */
    executed(model, "nvlink", 3500, 4500, 0, 10);     /* within a call up to 4000 */
    assert_int_equal(gw_compiles_list(model, &list, &count), 0);
    assert_int_equal(count, 9);
    assert_int_equal(find_name(model, list, count, "nvlink", 0)->held_ns, 500);
    const struct gw_compile *first = find_name(model, list, count, "cudaLibraryLoadData", 0);
    assert_int_equal(first->kind, GW_COMPILE_LOAD);
    assert_int_equal(first->size_bytes, 500);
    assert_true(first->is_new);
    assert_int_equal(first->held_ns, 1000);
    assert_int_equal(find_name(model, list, count, "cuModuleLoadData", 0)->kind, GW_COMPILE_JIT);
    assert_true(find_name(model, list, count, "cuModuleLoadData", 0)->is_new);
    assert_false(find_name(model, list, count, "cuModuleLoadData", 1)->is_new);
    assert_int_equal(find_name(model, list, count, "cuLinkComplete", 0)->kind, GW_COMPILE_LINK);
    assert_int_equal(find_name(model, list, count, "cuLibraryGetKernel", 0)->kind, GW_COMPILE_LOOKUP);
    assert_true(find_name(model, list, count, "ptxas", 0)->is_new);
    assert_int_equal(find_name(model, list, count, "ptxas", 0)->held_ns, 500);
    assert_false(find_name(model, list, count, "ptxas", 1)->is_new);
    assert_int_equal(find_name(model, list, count, "ptxas", 1)->held_ns, 400);
    assert_int_equal(find_name(model, list, count, "ptxas", 1)->thread, 0);
    assert_true(find_name(model, list, count, "gcc", 0)->is_new);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list[i].phase, GW_PHASE_ELSEWHERE); /* there are no steps */
    free(list);
    gw_model_destroy(model);
}

/* Before the first analysed step it is cold; between analysed steps and after the last it is of neither phase. */
static void test_phases(void **state)
{
    static const struct gw_step steps[] = {{.begin_ns = 100, .end_ns = 200, .number = 0, .warmup = 1},
                                           {.begin_ns = 1000, .end_ns = 1500, .number = 1},
                                           {.begin_ns = 4000, .end_ns = 6000, .number = 2}};
    static const struct {
        uint64_t begin_ns;
        enum gw_compile_phase phase;
        uint32_t step;
    } wanted[] = {{50, GW_PHASE_COLD, GW_NONE},        {150, GW_PHASE_COLD, 0},
                  {300, GW_PHASE_COLD, GW_NONE},       {1200, GW_PHASE_STEADY, 1},
                  {2000, GW_PHASE_ELSEWHERE, GW_NONE}, {7000, GW_PHASE_ELSEWHERE, GW_NONE}};
    struct gw_fixture *fixture = gw_fixture_create();
    struct gw_compile *list = NULL;
    size_t count = 0;
    (void)state;
    gw_fixture_thread(fixture, 7);
    struct gw_model *model = gw_fixture_finish(fixture);
    model->steps = calloc(3, sizeof *model->steps);
    assert_non_null(model->steps);
    memcpy(model->steps, steps, sizeof steps);
    model->steps_count = 3;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        executed(model, "ptxas", wanted[i].begin_ns, wanted[i].begin_ns + 10, 0, 100 + i);
    assert_int_equal(gw_compilers_list(model, &list, &count), 0);
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].phase, wanted[i].phase);
        assert_int_equal(list[i].step, wanted[i].step);
    }
    free(list);
    gw_model_destroy(model);
}

/* Steps of six kernels that wait for the GPU; in every third of them the host does something else for 20 ms first.
 * compiler_ns: how long a compiler runs in it; 0: none does. */
static struct outcome judged(uint64_t compiler_ns, bool in_warmup_only)
{
    struct outcome outcome = {0};
    struct gw_script script;
    uint64_t pauses_ns[STEPS];
    size_t pauses = 0;
    gw_script_begin(&script);
    for (int i = 0; i < STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z4headv", 100000);
        if (in_warmup_only ? i < WARMUP : i % 3 == 2) {
            pauses_ns[pauses++] = script.now_ns;
            gw_script_blocked(&script, MS(20));
        }
        for (int k = 0; k < 6; k++)
            gw_script_launch(&script, 1, "_Z7forwardPf", 100000);
        gw_script_stream_sync(&script, 1);
        gw_script_end_step(&script, i < WARMUP);
    }
    outcome.model = gw_script_end(&script);
    for (size_t i = 0; i < pauses && compiler_ns; i++)
        executed(outcome.model, "ptxas", pauses_ns[i] + 1000, pauses_ns[i] + 1000 + compiler_ns, 0, 77);
    analyse(&outcome);
    return outcome;
}

static void test_pause_of_a_compiler_is_recompiling(void **state)
{
    struct outcome outcome = judged(MS(18), false);
    const struct gw_verdict *verdict = find(&outcome, "recompile");
    (void)state;
    assert_int_equal(verdict->state, GW_CONFIRMED);
    assert_non_null(strstr(verdict->why, "ptxas"));
    assert_true(verdict->evidence_count > 0);
    assert_non_null(strstr(verdict->evidence[0].what, "while ptxas"));
    assert_float_equal(verdict->saving_ms, 20.0 * 4 / 10, 1.0); /* four of the steps, of which ten are analysed */
    assert_int_not_equal(find(&outcome, "host-blocked")->state, GW_CONFIRMED);
    release(&outcome);
}

static void test_short_compiler_explains_no_pause(void **state)
{
    struct outcome outcome = judged(MS(5), false);
    (void)state;
    assert_int_not_equal(find(&outcome, "recompile")->state, GW_CONFIRMED);
    release(&outcome);
}

static void test_compilers_in_warmup_are_no_recompiling(void **state)
{
    struct outcome outcome = judged(MS(18), true);
    (void)state;
    assert_int_equal(find(&outcome, "recompile")->state, GW_RULED_OUT);
    release(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_pause_of_a_compiler_is_recompiling),
        cmocka_unit_test(test_short_compiler_explains_no_pause),
        cmocka_unit_test(test_compilers_in_warmup_are_no_recompiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
