/* The step finder on programs whose uploads divide them into batches, of which not all are steps: evaluations as long
 * as training, accumulation, skipped updates, work done now and then. Where two readings are as likely, it says so. */
#include "tests/unit/play_fixture.h"

#define SURE 0.8
#define UNSURE 0.7

/* A batch of training without its update: one upload, forward and backward pass of four layers. */
#define TRAINED "Hfabcabcabcabcgijklijklijklijkl"
#define EVALUATED "HfabcabcabcabceR"
#define UPDATE "ABCABC"
#define NAMED "UUUUUU"

static void expect_doubt(struct play *play, size_t others)
{
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_true(found.confidence < UNSURE);
    assert_int_equal(found.other_count, others);
    gw_found_steps_clear(&found);
    end_play(play);
}

static void play_step(struct play *play, uint32_t micro_steps, const char *update)
{
    play_text(play, "|");
    repeat_text(play, TRAINED, micro_steps);
    play_text(play, update);
}

static void test_evaluation_every_second_step_of_micro_steps(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, 3, UPDATE);
        repeat_text(play, EVALUATED, step % 2 * 2);
    }
    expect_truth(play, 0.5);
}

static void play_half_evaluated(struct play *play, const char *update)
{
    for (uint32_t epoch = 0; epoch < 8; epoch++) {
        for (uint32_t step = 0; step < 10; step++) {
            play_step(play, 1, update);
        }
        repeat_text(play, EVALUATED, 10);
    }
}

/* Four kinds of steps take turns, as lengths of inputs may that have kernels of their own. */
static struct play *play_turns(const char *update)
{
    static const char *const kinds[] = {"abcabc", "defdef", "ijkijk", "lmnlmn"};
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 60; step++) {
        play_text(play, "|H");
        play_text(play, kinds[step % 4]);
        play_text(play, update);
    }
    return play;
}

static void test_kinds_in_turn(void **state)
{
    (void)state;
    expect_truth(play_turns("UUU"), 0.1);
    expect_doubt(play_turns("ABC"), 60);
}

static void test_half_of_all_batches_evaluated(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_half_evaluated(play, UPDATE);
    expect_truth(play, SURE);
    play = begin_play();
    play_half_evaluated(play, NAMED);
    expect_truth(play, SURE);
}

static void test_average_every_seventh_step(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 61; step++) {
        play_step(play, 1, UPDATE);
        repeat_text(play, "x", step % 7 == 6 ? 12 : 0);
    }
    expect_truth(play, 0.5);
}

static void test_skipped_updates(void **state)
{
    (void)state;
    for (uint32_t micro_steps = 1; micro_steps <= 4; micro_steps++) {
        struct play *play = begin_play();
        for (uint32_t step = 0; step < 60; step++) {
            play_step(play, micro_steps, step % 9 == 3 ? "" : NAMED);
        }
        expect_truth(play, SURE);
    }
}

static void test_trials_now_and_then(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 63; step++) {
        play_text(play, "|Habcabcabcabc");
        play_text(play, step % 6 == 5 ? "tsusvswsxsys" : "");
        play_text(play, "wdddddd");
    }
    expect_truth(play, SURE);
}

/* What follows an update without a batch of its own belongs to no step, nor do waits at the end of the run. */
static void test_step_ends_before_an_evaluation(void **state)
{
    (void)state;
    struct play *play = begin_play();
    struct gw_found_steps found;
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, 1, UPDATE);
        repeat_text(play, "e", step == 19 ? 120 : 0);
    }
    play_text(play, "ss");
    find(play, &found);
    assert_int_equal(found.count, 40);
    assert_int_equal(found.ranges[19].count, found.ranges[18].count);
    assert_int_equal(found.ranges[39].count, found.ranges[18].count);
    gw_found_steps_clear(&found);
    end_play(play);
}

static void test_rollouts_before_updates(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t round = 0; round < 12; round++) {
        repeat_text(play, "HfabcabcabcabcmR", 32);
        for (uint32_t step = 0; step < 4; step++) {
            play_step(play, 1, NAMED);
        }
    }
    expect_truth(play, SURE);
}

/* Weights of layers of two kernels are uploaded one by one; nothing but a read tells where a step ends. */
static void test_layers_uploaded_one_by_one(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 75; step++) {
        play_text(play, "|");
        repeat_text(play, "Hab", 18);
        play_text(play, "Rs");
    }
    expect_truth(play, 0.5);
}

/* Accumulation over four micro-steps and an average every fourth step look the same; an update by its name does not. */
static void test_two_readings(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, 4, UPDATE);
    }
    expect_doubt(play, 160);
    play = begin_play();
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, 4, NAMED);
    }
    expect_truth(play, SURE);
}

static void test_models_updated_at_their_own_pace(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t round = 0; round < 40; round++) {
        repeat_text(play, "HabcabcijijU", 5);
        play_text(play, "defdefmnmn");
        add_event(play, 'U', 1);
    }
    expect_doubt(play, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluation_every_second_step_of_micro_steps),
        cmocka_unit_test(test_kinds_in_turn),
        cmocka_unit_test(test_half_of_all_batches_evaluated),
        cmocka_unit_test(test_average_every_seventh_step),
        cmocka_unit_test(test_skipped_updates),
        cmocka_unit_test(test_trials_now_and_then),
        cmocka_unit_test(test_step_ends_before_an_evaluation),
        cmocka_unit_test(test_rollouts_before_updates),
        cmocka_unit_test(test_layers_uploaded_one_by_one),
        cmocka_unit_test(test_two_readings),
        cmocka_unit_test(test_models_updated_at_their_own_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
