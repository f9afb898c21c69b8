/* The step finder on what several models, threads and lengths put between each other. */
#include "tests/unit/play_fixture.h"

/* At least 95 % of the begins that were marked are found, and no more than 5 % others. */
static void expect_most(struct play *play, const char *what)
{
    struct gw_found_steps found;
    size_t right = 0, t = 0;
    find(play, &found);
    for (size_t i = 0; i < found.count; i++) {
        while (t < play->truth_count && play->truth[t] < found.ranges[i].first) {
            t++;
        }
        right += t < play->truth_count && play->truth[t] == found.ranges[i].first;
    }
    if (20 * right < 19 * play->truth_count || 20 * (found.count - right) > play->truth_count) {
        fail_msg("%s: %zu of %zu begins found, %zu steps", what, right, play->truth_count, found.count);
    }
    gw_found_steps_clear(&found);
    end_play(play);
}

/* A discriminator and a generator in turn: a step is one of each. */
static void test_two_models_in_turn(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 60; i++) {
        play_text(play, "|HabcdabcdABHefghefghCD");
    }
    expect_most(play, "two models in turn");
}

static void test_five_steps_of_one_model_to_one_of_another(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 40; i++) {
        play_text(play, "|");
        repeat_text(play, "HabcdabcdAB", 5);
        play_text(play, "HefghefghCDR");
    }
    expect_most(play, "five to one");
}

/* Two models that run side by side, each from a thread and in a stream of its own, at their own pace: the steps are
 * those of the one that begins first in each round. */
static void test_two_models_side_by_side(void **state)
{
    (void)state;
    struct play *play = begin_play();
    const char *first = "HabcdabcdabcdABR", *second = "HefgefgefgCD";
    for (int i = 0; i < 60; i++) {
        const char *a = first, *b = second;
        play_text(play, "|");
        add_event(play, *a++, 0);
        while (*a || *b) {
            if (*a && (!*b || dice(play, 28) < 16)) {
                add_event(play, *a++, 0);
            } else {
                add_event(play, *b++, 1);
                play_text(play, "2");
            }
        }
    }
    expect_most(play, "side by side");
}

/* The backward pass is launched by a thread of its own, the optimizer's first kernels overtake its last ones. */
static void test_two_threads_launch(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 80; i++) {
        char text[] = "HHabcabcabcabcmnomnomnomnoABCDABCD";
        for (size_t at = 15; at + 2 < sizeof(text) - 1; at++) {
            if (dice(play, 4) == 0) {
                char letter = text[at];
                text[at] = text[at + 1];
                text[at + 1] = letter;
            }
        }
        play_text(play, "|");
        play_text(play, text);
    }
    expect_most(play, "two threads");
}

/* Sequences of any length: a step has 2 to 40 times the same cell. */
static void test_lengths_of_all_kinds(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 80; i++) {
        uint32_t length = 2 + dice(play, 39);
        play_text(play, "|Hp");
        repeat_text(play, "abc", length);
        play_text(play, "L");
        repeat_text(play, "mno", length);
        play_text(play, "ABCDR");
    }
    expect_most(play, "all lengths");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_models_in_turn),
        cmocka_unit_test(test_five_steps_of_one_model_to_one_of_another),
        cmocka_unit_test(test_two_models_side_by_side),
        cmocka_unit_test(test_two_threads_launch),
        cmocka_unit_test(test_lengths_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
