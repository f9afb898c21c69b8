/* The step finder on runs with other phases: compilation, trials, evaluation, checkpoints, interruptions. */
#include "tests/unit/play_fixture.h"

/* torch.compile's: every kernel it made is run hundreds of times, z clears the cache before each. */
static void play_trials(struct play *play, int times)
{
    for (const char *kernel = "abcdefqhijklmnop"; *kernel; kernel++) {
        for (int i = 0; i < times; i++) {
            add_event(play, 'z', 0);
            add_event(play, *kernel, 0);
        }
        play_text(play, "s");
    }
}

static void test_trials_before_the_loop(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "Hs", 40);
    play_trials(play, 250);
    repeat_text(play, "|HsHsabcdefqhabcdijklijklmnopijklmnopOPOQ", 29);
    play_text(play, "s");
    expect_truth(play, 0.8);
}

/* XLA's: each kernel several times between its own ones that fill and compare (t, u, v), waited for and read. */
static void test_trials_that_meet_the_host(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (const char *kernel = "abcdefqh"; *kernel; kernel++) {
        play_text(play, "zHzHtzHzHt");
        for (int i = 0; i < 7; i++) {
            add_event(play, *kernel, 0);
            play_text(play, "sw");
            add_event(play, *kernel, 0);
            play_text(play, "sszuuRsuuRszvRs");
        }
    }
    repeat_text(play, "|HHabcdefqhxyR", 30);
    repeat_text(play, "s", 30);
    expect_truth(play, 0.8);
}

/* Other shapes come, so that the compiler tries again, and an evaluation ends the run. */
static void test_trials_within_the_loop(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|HsHsabcdefqhabcdijklijklmnopijklmnopOPOQ", 20);
    play_trials(play, 150);
    repeat_text(play, "|HsHsabcdefqhabcdijklijklmnopijklmnopOPOQ", 30);
    repeat_text(play, "HsabcdefqhRs", 6);
    /* The first step after the trials follows none. */
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, play->truth_count - 1, play->truth_count);
    assert_int_equal(found.ranges[found.count - 1].first, play->truth[play->truth_count - 1]);
    gw_found_steps_clear(&found);
    end_play(play);
}

/* PyTorch's way to a graph: a few steps are run as they are, one is captured, and then it is replayed. Their operations
 * outnumber those of all replays. */
static void test_replays_of_what_was_warmed_up(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "H", 30);
    for (int i = 0; i < 3; i++) {
        play_text(play, "fv");
        repeat_text(play, "abcdefhijklmnopq", 12);
        repeat_text(play, i ? "OPQ" : "ttOPQ", 20);
    }
    repeat_text(play, "|HHxyg", 30);
    play_text(play, "s");
    expect_truth(play, 0.5);
}

/* JAX's way: a step is one compiled call, and what is asked after each epoch many small ones. */
static void test_epochs_of_replays(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int epoch = 0; epoch < 6; epoch++) {
        repeat_text(play, "|HHg", 100);
        play_text(play, "HHabcdefhijkRsHHlmnopqrtuvwRs");
    }
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, 590, 612);
    gw_found_steps_clear(&found);
    end_play(play);
}

/* A graph is all of a step, however many kernels follow one by one. */
static void test_evaluation_after_graph_replays(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_text(play, "HHabcdefghij");
    repeat_text(play, "|g", 400);
    repeat_text(play, "Habcdefghij", 12);
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, 399, 400);
    assert_int_equal(found.ranges[1].count, 1);
    gw_found_steps_clear(&found);
    end_play(play);
}

/* Now and then another program takes the CPU, for a while in several pieces. */
static void test_interrupted(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 4000; seed++) {
        struct play *play = begin_play();
        uint32_t burst = 0;
        play->random += seed * 2654435761u;
        for (int i = 0; i < 40; i++) {
            play_text(play, "|");
            for (const char *letter = "ffffbbbb"; *letter; letter++) {
                burst = burst ? burst - 1 : dice(play, 40 + seed % 400) == 0 ? 1 + dice(play, 9) : 0;
                play->now_ns += burst && dice(play, 2) ? PAUSE_NS : 0;
                add_event(play, *letter, 0);
            }
        }
        /* Nothing but its kernels tells where this loop begins: one step may be cut in two, at both ends of the run. */
        struct gw_found_steps found;
        find(play, &found);
        assert_true(found.found);
        assert_in_range(found.count, play->truth_count - 1, play->truth_count);
        gw_found_steps_clear(&found);
        end_play(play);
    }
}

/* A rank sleeps in the middle of every eighth step. At the head of each other one but the next it is silent for longer
 * than else, if only for microseconds. */
static void test_late_in_every_eighth_step(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 44; i++) {
        play_text(play, "s|");
        play->now_ns += i % 8 == 4 ? 0 : 3000;
        play_text(play, i % 8 == 3 ? "ffffs.bco" : "ffffbco");
    }
    play_text(play, "s");
    expect_truth(play, 0.8);
}

static void test_log_line_every_ten_steps(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 60; i++) {
        play_text(play, "|Hffbbo");
        if (i % 10 == 9) {
            play_text(play, "Rs");
        }
    }
    expect_truth(play, 0.85);
}

static void test_evaluation_between(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int epoch = 0; epoch < 4; epoch++) {
        repeat_text(play, "|HffffbbbbooR", 10);
        repeat_text(play, "HfeR", 5);
    }
    expect_truth(play, 0.6);
}

static void test_evaluation_every_few_steps(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int round = 0; round < 8; round++) {
        repeat_text(play, "|HffffbbbbooR", 5);
        repeat_text(play, "HfffeR", 2);
    }
    expect_truth(play, 0.6);
}

static void test_checkpoint_between(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 32; i++) {
        play_text(play, "|Hffffbbbbooo");
        if (i % 8 == 7) {
            repeat_text(play, "R", 30);
        }
    }
    expect_truth(play, 0.4);
}

static void test_last_step_is_cut_from_what_follows(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|HffbbooR", 10);
    repeat_text(play, "R", 40);
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_int_equal(found.count, 10);
    assert_int_equal(found.ranges[9].first, play->truth[9]);
    assert_int_equal(found.ranges[9].count, 8);
    assert_true(found.ranges[9].open);
    gw_found_steps_clear(&found);
    end_play(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials_before_the_loop),
        cmocka_unit_test(test_trials_that_meet_the_host),
        cmocka_unit_test(test_trials_within_the_loop),
        cmocka_unit_test(test_replays_of_what_was_warmed_up),
        cmocka_unit_test(test_epochs_of_replays),
        cmocka_unit_test(test_evaluation_after_graph_replays),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_late_in_every_eighth_step),
        cmocka_unit_test(test_log_line_every_ten_steps),
        cmocka_unit_test(test_evaluation_between),
        cmocka_unit_test(test_evaluation_every_few_steps),
        cmocka_unit_test(test_checkpoint_between),
        cmocka_unit_test(test_last_step_is_cut_from_what_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
