/* The step finder on sequences written as text: a letter an operation, the truth marked in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/sequence.h"

#define EVENTS_MAX 400000u
#define CALL_NS 2000u
#define PAUSE_NS 100000u
#define VARIANT 1000u /* token of the same letter in another shape */

/*
 * H upload, R read, s wait, g graph replay, other letters kernels; a digit puts the operation before it on that stream;
 * '.' a pause of the host; '|' a step begins with the next operation; '!' what follows belongs to no step.
 */
struct play {
    struct gw_sequence sequence;
    uint64_t now_ns;
    size_t *truth; /* begins of steps, as events */
    size_t truth_count;
    size_t step_at; /* event where the next step begins when one is due */
    bool step_due;
    uint32_t random;
};

static struct play *begin_play(void)
{
    struct play *play = calloc(1, sizeof(*play));
    assert_non_null(play);
    play->sequence.events = calloc(EVENTS_MAX, sizeof(*play->sequence.events));
    play->truth = calloc(EVENTS_MAX, sizeof(*play->truth));
    assert_non_null(play->sequence.events);
    assert_non_null(play->truth);
    play->sequence.token_count = 256 + VARIANT * 64;
    play->sequence.lane_count = play->sequence.token_count * 10;
    play->random = 12345;
    return play;
}

static void end_play(struct play *play)
{
    free(play->sequence.events);
    free(play->truth);
    free(play);
}

static uint32_t dice(struct play *play, uint32_t sides)
{
    play->random = play->random * 1664525u + 1013904223u;
    return (play->random >> 8) % sides;
}

static uint8_t traits_of(char letter)
{
    switch (letter) {
    case 'H':
        return GW_TRAIT_UPLOAD;
    case 'R':
        return GW_TRAIT_READ;
    case 's':
        return GW_TRAIT_SYNC;
    case 'g':
        return GW_TRAIT_KERNEL | GW_TRAIT_REPLAY;
    default:
        return GW_TRAIT_KERNEL;
    }
}

static void add_event(struct play *play, char letter, uint32_t variant)
{
    struct gw_sequence *sequence = &play->sequence;
    assert_true(sequence->count < EVENTS_MAX);
    struct gw_sequence_event *event = &sequence->events[sequence->count];
    uint64_t length_ns = letter == 's' || letter == 'R' ? 20 * CALL_NS : CALL_NS;
    *event = (struct gw_sequence_event){.begin_ns = play->now_ns,
                                        .end_ns = play->now_ns + length_ns,
                                        .token = (uint32_t)(unsigned char)letter + variant * VARIANT,
                                        .op = letter == 's' ? GW_NONE : (uint32_t)sequence->count,
                                        .traits = traits_of(letter)};
    event->lane = event->token * 10;
    event->silence_ns = sequence->count ? event->begin_ns - event[-1].end_ns : 0;
    play->now_ns += length_ns + 300;
    if (play->step_due && letter != 's') {
        play->truth[play->truth_count++] = sequence->count;
        play->step_due = false;
    }
    sequence->count++;
}

static void play_text(struct play *play, const char *text)
{
    for (; *text; text++) {
        if (*text == '.') {
            play->now_ns += PAUSE_NS;
        } else if (*text == '|') {
            play->step_due = true;
        } else if (*text >= '0' && *text <= '9') {
            play->sequence.events[play->sequence.count - 1].lane += (uint32_t)(*text - '0');
        } else {
            add_event(play, *text, 0);
        }
    }
}

static void repeat_text(struct play *play, const char *text, size_t times)
{
    while (times--) {
        play_text(play, text);
    }
}

struct found {
    bool found;
    struct gw_mark mark;
    double confidence;
    struct gw_step_range *ranges;
    size_t count;
};

static void find(struct play *play, struct found *found)
{
    *found = (struct found){0};
    assert_int_equal(gw_period_find(&play->sequence, &found->mark, &found->confidence, &found->found), 0);
    if (found->found) {
        assert_int_equal(gw_period_apply(&play->sequence, &found->mark, &found->ranges, &found->count), 0);
    }
}

/* All steps found, each where it begins, and none besides. */
static void expect_truth(struct play *play, double confidence_min)
{
    struct found found;
    find(play, &found);
    assert_true(found.found);
    if (found.count != play->truth_count) {
        print_message("mark kind %d, a %u, b %u\n", (int)found.mark.kind, found.mark.a, found.mark.b);
    }
    assert_int_equal(found.count, play->truth_count);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.ranges[i].first, play->truth[i]);
    }
    assert_true(found.confidence >= confidence_min);
    free(found.ranges);
    end_play(play);
}

static void expect_none(struct play *play)
{
    struct found found;
    find(play, &found);
    assert_false(found.found);
    end_play(play);
}

static void test_plain_loop(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_text(play, "HHHHms");
    repeat_text(play, "|HfbbooRs", 20);
    expect_truth(play, 0.85);
}

static void test_three_steps_are_enough(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|HfcbooRs", 3);
    expect_truth(play, 0.5);
}

static void test_layers_within(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 15; i++) {
        play_text(play, "|H");
        repeat_text(play, "lmnp", 24);
        play_text(play, "L");
        repeat_text(play, "qrtu", 24);
        play_text(play, "ooR");
    }
    expect_truth(play, 0.85);
}

static void test_decode_of_many_equal_layers(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 12; i++) {
        play_text(play, "|e");
        repeat_text(play, "l", 96);
        play_text(play, "kR");
    }
    expect_truth(play, 0.8);
}

static void test_accumulation(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 12; i++) {
        play_text(play, "|HffbbHffbbHffbbHffbboooR");
    }
    expect_truth(play, 0.8);
}

static void test_accumulation_with_fused_optimizer(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 12; i++) {
        play_text(play, "|");
        for (int micro = 0; micro < 8; micro++) {
            play_text(play, "Hfchijklmnopqrtuvwxyz");
        }
        play_text(play, "O");
    }
    expect_truth(play, 0.8);
}

/* From the second micro-step on each gradient is added (v), which are more kernels than the optimizer's. */
static void test_accumulation_that_adds_gradients(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_text(play, "HHHHmH");
    for (int i = 0; i < 36; i++) {
        play_text(play, "|HHHfabcdeabcdeabcdeabcdeijklmnijklmnijklmnijklmn");
        repeat_text(play, "HHHfabcdeabcdeabcdeabcdeijklmnvvijklmnvvijklmnvvijklmnvv", 3);
        play_text(play, i ? "BCBODOE" : "zyzyzyzyzyBCBODOE");
    }
    expect_truth(play, 0.8);
}

/* PyTorch's DistributedDataParallel: batches that stay on the device, a foreach optimizer of few kernels among dozens
 * that come once a micro-step, one reduction (A) more at the end. Nothing but the end of the run tells where a step
 * begins. */
static void test_accumulation_of_resident_batches(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_text(play, "HHHHmRmR");
    for (int i = 0; i < 20; i++) {
        play_text(play, "|lmlmlmlmnpqrcdefihvvefihvvefihvvehvv");
        play_text(play, "lmlmlmlmnpqrcdefihavavAefihavavefihavavehavavA");
        play_text(play, i ? "BCBCBCBC" : "BCBCBCBCzyzyzyzy");
        play_text(play, "ODOEIJKL");
    }
    play_text(play, "Ass");
    expect_truth(play, 0.8);
}

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
    struct found found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, play->truth_count - 1, play->truth_count);
    assert_int_equal(found.ranges[found.count - 1].first, play->truth[play->truth_count - 1]);
    free(found.ranges);
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
    struct found found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, 399, 400);
    assert_int_equal(found.ranges[1].count, 1);
    free(found.ranges);
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
        struct found found;
        find(play, &found);
        assert_true(found.found);
        assert_in_range(found.count, play->truth_count - 1, play->truth_count);
        free(found.ranges);
        end_play(play);
    }
}

static void test_equal_halves_divided_by_a_wait(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|ffs", 30);
    expect_truth(play, 0.8);
}

static void test_equal_halves_divided_by_a_pause(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|.ff", 30);
    expect_truth(play, 0.8);
}

static void test_equal_halves_that_nothing_divides(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|Hfbo", 40);
    expect_truth(play, 0.9);
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

static void test_graph_replay_alone(void **state)
{
    (void)state;
    struct play *play = begin_play();
    play_text(play, "HHfbofbo");
    repeat_text(play, "|g", 30);
    expect_truth(play, 0.7);
}

static void test_graph_replay_with_upload(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|HgRs", 30);
    expect_truth(play, 0.9);
}

static void test_two_streams_in_turn(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|H1f1b1o1|H2f2b2o2", 20);
    expect_truth(play, 0.9);
}

static void test_shapes_drift(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 40; i++) {
        play_text(play, "|H");
        for (int layer = 0; layer < 12; layer++) {
            add_event(play, 'f', dice(play, 4) == 0 ? 1 + (uint32_t)i / 4 : 0);
            add_event(play, 'v', 0);
            if (dice(play, 10) == 0) {
                add_event(play, 'h', 0);
            }
            add_event(play, 'b', dice(play, 5) == 0 ? 1 + (uint32_t)i / 8 : 0);
        }
        play_text(play, "ooR");
    }
    expect_truth(play, 0.6);
}

static void test_second_thread_uploads_anywhere(void **state)
{
    (void)state;
    struct play *play = begin_play();
    const char *body = "fvhijbcdo";
    for (int i = 0; i < 50; i++) {
        uint32_t at = 1 + dice(play, 7);
        play_text(play, "|");
        for (uint32_t k = 0; body[k]; k++) {
            if (k == at) {
                play_text(play, "H3");
            }
            add_event(play, body[k], 0);
        }
        play_text(play, "Rs.");
    }
    expect_truth(play, 0.8);
}

static void test_long_run_beyond_the_window(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0; i < 3000; i++) {
        play_text(play, "|H");
        repeat_text(play, "abcdefvijk", 10);
        play_text(play, "oR");
    }
    expect_truth(play, 0.9);
}

static void test_last_step_is_cut_from_what_follows(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "|HffbbooR", 10);
    repeat_text(play, "R", 40);
    struct found found;
    find(play, &found);
    assert_true(found.found);
    assert_int_equal(found.count, 10);
    assert_int_equal(found.ranges[9].first, play->truth[9]);
    assert_int_equal(found.ranges[9].count, 8);
    assert_true(found.ranges[9].open);
    free(found.ranges);
    end_play(play);
}

static void test_one_kernel_over_and_over(void **state)
{
    (void)state;
    struct play *play = begin_play();
    repeat_text(play, "f", 5000);
    expect_none(play);
}

static void test_nothing_repeats(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t i = 0; i < 500; i++) {
        add_event(play, 'f', i % 60);
        add_event(play, 'v', dice(play, 60));
        if (i == 60) {
            break;
        }
    }
    struct found found;
    find(play, &found);
    assert_true(!found.found || found.confidence < 0.5);
    free(found.ranges);
    end_play(play);
}

static void test_empty(void **state)
{
    (void)state;
    expect_none(begin_play());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_loop),
        cmocka_unit_test(test_three_steps_are_enough),
        cmocka_unit_test(test_layers_within),
        cmocka_unit_test(test_decode_of_many_equal_layers),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_accumulation_with_fused_optimizer),
        cmocka_unit_test(test_accumulation_that_adds_gradients),
        cmocka_unit_test(test_accumulation_of_resident_batches),
        cmocka_unit_test(test_trials_before_the_loop),
        cmocka_unit_test(test_trials_that_meet_the_host),
        cmocka_unit_test(test_trials_within_the_loop),
        cmocka_unit_test(test_evaluation_after_graph_replays),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_equal_halves_divided_by_a_wait),
        cmocka_unit_test(test_equal_halves_divided_by_a_pause),
        cmocka_unit_test(test_equal_halves_that_nothing_divides),
        cmocka_unit_test(test_log_line_every_ten_steps),
        cmocka_unit_test(test_evaluation_between),
        cmocka_unit_test(test_evaluation_every_few_steps),
        cmocka_unit_test(test_checkpoint_between),
        cmocka_unit_test(test_graph_replay_alone),
        cmocka_unit_test(test_graph_replay_with_upload),
        cmocka_unit_test(test_two_streams_in_turn),
        cmocka_unit_test(test_shapes_drift),
        cmocka_unit_test(test_second_thread_uploads_anywhere),
        cmocka_unit_test(test_long_run_beyond_the_window),
        cmocka_unit_test(test_last_step_is_cut_from_what_follows),
        cmocka_unit_test(test_one_kernel_over_and_over),
        cmocka_unit_test(test_nothing_repeats),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
