/* Steps much slower than usual: two processes of unequal work, and what other programs took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/verdicts/intervals.h"
#include "analyzer/verdicts/slow_steps.h"

#define STEPS 10u /* of each process; the first is warm-up */
#define PROCESSES 2u
#define APART 10000u

static const uint64_t usual_ns[PROCESSES] = {1000, 1500};

struct run {
    struct gw_model model;
    struct gw_step steps[PROCESSES * STEPS];
    struct gw_interval times[PROCESSES * STEPS];
    struct gw_thread threads[PROCESSES];
};

static void lengthen(struct run *run, uint32_t process, uint32_t step, uint64_t by_ns)
{
    const uint32_t at = process * STEPS + step;
    run->times[at].end_ns = run->steps[at].end_ns += by_ns;
}

static void begin(struct run *run)
{
    *run = (struct run){.model = {.steps_count = PROCESSES * STEPS, .threads_count = PROCESSES}};
    run->model.steps = run->steps;
    run->model.threads = run->threads;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        run->threads[p].process = p;
        for (uint32_t s = 0; s < STEPS; s++) {
            const uint64_t begin_ns = (uint64_t)APART * (s + 1);
            run->steps[p * STEPS + s] = (struct gw_step){
                .process = p, .begin_ns = begin_ns, .end_ns = begin_ns + usual_ns[p], .number = s, .warmup = s == 0};
            run->times[p * STEPS + s] = (struct gw_interval){begin_ns, begin_ns + usual_ns[p]};
        }
        lengthen(run, p, 0, 5000);
    }
}

static double over_ns(struct run *run, const struct gw_replay *replay, uint32_t process, uint32_t step, bool *ret_few)
{
    struct gw_slow_steps slow;
    assert_int_equal(gw_slow_steps_init(&slow, &run->model, run->times, replay), 0);
    const double over = gw_slow_step_over_ns(&slow, &run->model, process * STEPS + step);
    if (ret_few)
        *ret_few = slow.few;
    gw_slow_steps_release(&slow);
    return over;
}

static void a_step_is_compared_with_those_of_its_process(void **state)
{
    struct run run;
    bool few = true;
    (void)state;
    begin(&run);
    for (uint32_t s = 0; s < STEPS; s++)
        assert_float_equal(over_ns(&run, NULL, 1, s, &few), 0, 0);
    assert_false(few);
    lengthen(&run, 0, 4, 600); /* still no longer than half the others' */
    assert_float_equal(over_ns(&run, NULL, 0, 4, &few), 600, 1e-9);
    assert_true(few);
    assert_float_equal(over_ns(&run, NULL, 0, 5, NULL), 0, 0);
    assert_float_equal(over_ns(&run, NULL, 0, 0, NULL), 0, 0); /* warm-up */
}

static void a_tenth_more_is_slow(void **state)
{
    struct run run;
    (void)state;
    begin(&run);
    lengthen(&run, 1, 3, 140);
    lengthen(&run, 1, 7, 160);
    assert_float_equal(over_ns(&run, NULL, 1, 3, NULL), 0, 0);
    assert_float_equal(over_ns(&run, NULL, 1, 7, NULL), 160, 1e-9);
}

/* What other programs took of a call is none of the step's, unless they had the processor from it. */
static void noise_makes_no_step_slow(void **state)
{
    struct run run;
    struct gw_replay_node node = {.thread = 1,
                                  .begin_ns = (uint64_t)APART * 7 + 100,
                                  .own_noise_ns = 300,
                                  .lag_noise_ns = 200,
                                  .extra_noise_ns = 80,
                                  .duration_noise_ns = 20};
    const struct gw_replay replay = {.nodes = &node, .nodes_count = 1};
    (void)state;
    begin(&run);
    lengthen(&run, 1, 6, 600);
    assert_float_equal(over_ns(&run, &replay, 1, 6, NULL), 0, 0);
    node.preempted = true;
    assert_float_equal(over_ns(&run, &replay, 1, 6, NULL), 600, 1e-9);
    node.preempted = false;
    node.begin_ns += 5000; /* between two steps */
    assert_float_equal(over_ns(&run, &replay, 1, 6, NULL), 600, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_compared_with_those_of_its_process),
        cmocka_unit_test(a_tenth_more_is_slow),
        cmocka_unit_test(noise_makes_no_step_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
