/* What a recording cost its run, on models made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/model/perturbation.h"
#include "tests/unit/model_fixture.h"

/* Steps one after the other with one launch each; those whose letter is not 't' are not timed. */
static struct gw_model *make(const char *timed, const uint64_t *lengths_ns)
{
    struct gw_fixture *fixture = gw_fixture_create();
    uint32_t thread = gw_fixture_thread(fixture, 1), device = gw_fixture_device(fixture, 0);
    uint32_t stream = gw_fixture_stream(fixture, device, 1, 0);
    uint64_t now_ns = 1000000;
    for (size_t i = 0; timed[i]; i++) {
        uint32_t call = gw_fixture_call(fixture, thread, "cuLaunchKernel", now_ns, now_ns + 1000, 1);
        uint32_t op = gw_fixture_op(fixture, call, stream, GW_OP_KERNEL, now_ns + 5000, now_ns + 9000);
        if (timed[i] != 't') {
            struct gw_model *model = gw_fixture_model(fixture);
            model->ops[op].flags |= GW_OP_UNTIMED;
            model->ops[op].start_ns = model->ops[op].end_ns = GW_TIME_UNKNOWN;
        }
        gw_fixture_step(fixture, now_ns, now_ns + lengths_ns[i], false);
        now_ns += lengths_ns[i];
    }
    return gw_fixture_finish(fixture);
}

static void nothing_measured_nothing_said(void **state)
{
    static const uint64_t lengths_ns[] = {100000, 100000};
    struct gw_model *model = make("tt", lengths_ns);
    (void)state;
    assert_int_equal(gw_measure_perturbation(model), 0);
    assert_int_equal(model->perturbation.method, GW_PERTURBATION_UNKNOWN);
    gw_model_destroy(model);
}

static void calls_cost_at_most_their_time(void **state)
{
    static const uint64_t lengths_ns[] = {100000, 100000, 100000, 100000};
    struct gw_model *model = make("tttt", lengths_ns);
    (void)state;
    model->processes[0].own_ns_per_call = 2000; /* 4 calls: 8 of 400 us, so the run took 8/392 longer */
    assert_int_equal(gw_measure_perturbation(model), 0);
    assert_int_equal(model->perturbation.method, GW_PERTURBATION_CALLS);
    double whole = 100 * 8.0 / 392;
    assert_true(fabs(model->perturbation.percent + model->perturbation.plus_minus_percent - whole) < 1e-9);
    assert_true(fabs(model->perturbation.percent - model->perturbation.plus_minus_percent) < 1e-9);
    assert_int_equal(model->steps_count, 4);
    gw_model_destroy(model);
}

static void steps_without_timing_are_compared_and_left_out(void **state)
{
    static const uint64_t lengths_ns[] = {110000, 110000, 110000, 110000, 110000, 100000,
                                          100000, 100000, 100000, 100000, 500000};
    struct gw_model *model = make("ttttt.....t", lengths_ns);
    (void)state;
    model->run.timed_ns = 1;
    model->run.timing_period_ns = 2;
    model->processes[0].own_ns_per_call = 1; /* next to nothing */
    assert_int_equal(gw_measure_perturbation(model), 0);
    assert_int_equal(model->perturbation.method, GW_PERTURBATION_WINDOWS);
    assert_true(fabs(model->perturbation.percent - 10) < 0.01);
    assert_true(model->perturbation.plus_minus_percent < 0.01);
    assert_int_equal(model->perturbation.timed_steps, 6);
    assert_int_equal(model->perturbation.untimed_steps, 5);
    assert_int_equal(model->steps_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(model->steps[i].number, i);
    }
    assert_int_equal(model->steps[5].end_ns - model->steps[5].begin_ns, 500000);
    gw_model_destroy(model);
}

static void noise_widens_the_answer(void **state)
{
    static const uint64_t lengths_ns[] = {110000, 130000, 90000, 110000, 110000, 100000,
                                          120000, 80000,  90000, 110000, 100000};
    struct gw_model *model = make("ttttt......", lengths_ns);
    (void)state;
    model->run.timed_ns = 1;
    model->run.timing_period_ns = 2;
    model->processes[0].own_ns_per_call = 1;
    assert_int_equal(gw_measure_perturbation(model), 0);
    assert_true(fabs(model->perturbation.percent - 10) < 0.01);
    /* Median deviations 0 and 10 us: 2 · 1.2533 · 1.4826 · 10 us / √6 of 100 us. */
    assert_true(fabs(model->perturbation.plus_minus_percent - 15.17) < 0.02);
    gw_model_destroy(model);
}

static void few_steps_of_a_sort_compare_to_nothing(void **state)
{
    static const uint64_t lengths_ns[] = {110000, 110000, 110000, 110000, 110000, 100000};
    struct gw_model *model = make("ttttt.", lengths_ns);
    (void)state;
    model->run.timed_ns = 1;
    model->run.timing_period_ns = 2;
    model->processes[0].own_ns_per_call = 1;
    assert_int_equal(gw_measure_perturbation(model), 0);
    assert_int_equal(model->perturbation.method, GW_PERTURBATION_CALLS);
    assert_int_equal(model->steps_count, 5);
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_measured_nothing_said),
        cmocka_unit_test(calls_cost_at_most_their_time),
        cmocka_unit_test(steps_without_timing_are_compared_and_left_out),
        cmocka_unit_test(noise_widens_the_answer),
        cmocka_unit_test(few_steps_of_a_sort_compare_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
