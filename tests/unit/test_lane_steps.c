/* Steps of lanes that make them before or after the lane in which they were found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/verdicts/lane_steps.h"
#include "tests/unit/model_fixture.h"

#define LANES 3u /* the last one has no exchanges with the others */
#define STEPS 6u
#define STEP_NS 100000u

static const uint64_t late_ns[LANES] = {0, 150000, 130000};

static uint64_t begin_of(uint32_t lane, uint32_t step)
{
    return 1000000 + (uint64_t)step * STEP_NS + late_ns[lane];
}

/* A step is two kernels, a collective, and one more kernel. crossed: the third is none, and the second lane makes the
 * exchanges of the second and the third the other way round. */
static struct gw_model *build(bool crossed)
{
    struct gw_fixture *fixture = gw_fixture_create();
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint32_t thread = gw_fixture_thread(fixture, 100 + lane), device = gw_fixture_device(fixture, lane);
        const uint32_t stream = gw_fixture_stream(fixture, device, 1, 0);
        for (uint32_t step = 0; step < STEPS; step++) {
            for (uint32_t i = 0; i < 4; i++) {
                const uint64_t begin_ns = begin_of(lane, step) + 10000 * i;
                const bool exchanges = i == 2 && lane + 1 < LANES;
                const uint32_t call = gw_fixture_call(fixture, thread, exchanges ? "ncclAllReduce" : "cudaLaunchKernel",
                                                      begin_ns, begin_ns + 2000, 1);
                gw_fixture_op(fixture, call, stream, exchanges ? GW_OP_COMM : GW_OP_KERNEL, begin_ns + 5000,
                              begin_ns + 9000);
            }
        }
    }
    /* A second GPU of the second lane, which does little. */
    const uint32_t second = gw_fixture_device(fixture, LANES), idle = gw_fixture_stream(fixture, second, 1, 0);
    gw_fixture_op(fixture,
                  gw_fixture_call(fixture, 1, "cudaLaunchKernel", begin_of(1, 0) - 9000, begin_of(1, 0) - 8000, 1),
                  idle, GW_OP_KERNEL, begin_of(1, 0) - 7000, begin_of(1, 0) - 6000);
    for (uint32_t step = 0; step < STEPS; step++) {
        if (!crossed || step != 2)
            gw_fixture_step(fixture, begin_of(0, step), begin_of(0, step + 1), step == 0);
    }
    struct gw_model *model = gw_fixture_finish(fixture);
    model->devices[second].lane = 1;
    uint32_t counts[LANES] = {0};
    model->processes[0].op_count = (uint32_t)model->ops_count;
    for (uint32_t lane = 0; lane < LANES; lane++)
        model->threads[lane].lane = model->devices[lane].lane = lane;
    model->collectives = calloc(model->ops_count, sizeof *model->collectives);
    assert_non_null(model->collectives);
    for (uint32_t i = 0; i < model->ops_count; i++) {
        const uint32_t device = model->streams[model->ops[i].stream].device;
        if (model->ops[i].kind != GW_OP_COMM)
            continue;
        uint32_t match = counts[device]++;
        if (crossed && device == 1 && (match == 1 || match == 2))
            match = 3 - match;
        model->collectives[model->collectives_count++] =
            (struct gw_collective){.op = i, .call = model->ops[i].call, .match = match};
    }
    return model;
}

static void lanes_make_the_same_steps_at_other_times(void **state)
{
    (void)state;
    struct gw_model *model = build(false);
    struct gw_lane_steps steps;
    assert_int_equal(gw_lane_steps_init(&steps, model), 0);
    for (uint32_t step = 0; step < STEPS; step++) {
        for (uint32_t lane = 0; lane < 2; lane++) {
            const struct gw_interval time = gw_lane_step_time(&steps, 0, lane, step);
            assert_int_equal(time.begin_ns, begin_of(lane, step));
            assert_int_equal(gw_lane_step_at(&steps, 0, lane, begin_of(lane, step)), step);
            assert_int_equal(gw_lane_step_at(&steps, 0, lane, begin_of(lane, step) + 30000), step);
        }
    }
    assert_int_equal(gw_lane_step_at(&steps, 0, 1, begin_of(1, 0) - 1), GW_NONE);
    gw_lane_steps_release(&steps);
    gw_model_destroy(model);
}

static void lanes_without_exchanges_keep_the_times_of_the_process(void **state)
{
    (void)state;
    struct gw_model *model = build(false);
    struct gw_lane_steps steps;
    assert_int_equal(gw_lane_steps_init(&steps, model), 0);
    assert_int_equal(gw_lane_step_time(&steps, 0, 2, 3).begin_ns, begin_of(0, 3));
    assert_int_equal(gw_lane_step_at(&steps, 0, 2, begin_of(2, 0)), 1);
    gw_lane_steps_release(&steps);
    gw_model_destroy(model);
}

static void windows_begin_and_end_with_the_lane_s_analysed_steps(void **state)
{
    (void)state;
    struct gw_model *model = build(false);
    struct gw_lane_steps steps;
    struct gw_interval windows[LANES];
    assert_int_equal(gw_lane_steps_init(&steps, model), 0);
    gw_lane_windows(&steps, (struct gw_interval){begin_of(0, 1), begin_of(0, 4)}, windows);
    assert_int_equal(windows[0].begin_ns, begin_of(0, 1));
    assert_int_equal(windows[0].end_ns, begin_of(0, 4));
    assert_int_equal(windows[1].begin_ns, begin_of(1, 1));
    assert_int_equal(windows[1].end_ns, begin_of(1, 4));
    assert_int_equal(windows[2].begin_ns, begin_of(0, 1));
    gw_lane_steps_release(&steps);
    gw_model_destroy(model);
}

/* Steps follow each other: a lane whose exchanges say otherwise keeps the times of the process. */
static void lanes_that_cross_cannot_be_told(void **state)
{
    (void)state;
    struct gw_model *model = build(true);
    struct gw_lane_steps steps;
    assert_int_equal(gw_lane_steps_init(&steps, model), 0);
    for (uint32_t step = 0; step < STEPS - 1; step++)
        assert_int_equal(gw_lane_step_time(&steps, 0, 1, step).begin_ns, begin_of(0, step < 2 ? step : step + 1));
    gw_lane_steps_release(&steps);
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_make_the_same_steps_at_other_times),
        cmocka_unit_test(lanes_without_exchanges_keep_the_times_of_the_process),
        cmocka_unit_test(lanes_that_cross_cannot_be_told),
        cmocka_unit_test(windows_begin_and_end_with_the_lane_s_analysed_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
