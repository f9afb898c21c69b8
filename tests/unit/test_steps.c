/* The step finder on loops that are alike from begin to end. */
#include "tests/unit/play_fixture.h"

/* The steps found have so many micro-steps; 0: none. */
static void expect_micro_steps(const char *step, uint32_t micro_steps)
{
    struct play *play = begin_play();
    struct gw_found_steps found;
    repeat_text(play, step, 20);
    find(play, &found);
    assert_true(found.found);
    if (found.micro_steps != micro_steps) {
        fail_msg("%s: %u micro-steps, not %u", step, found.micro_steps, micro_steps);
    }
    gw_found_steps_clear(&found);
    end_play(play);
}

static void test_micro_steps_are_counted(void **state)
{
    (void)state;
    expect_micro_steps("|HfcbbHfcbbHfcbbHfcbboooR", 4);
    expect_micro_steps("|HHfhijklbcdHHfhijklbcdABAB", 2);
    expect_micro_steps("|HfcbbooR", 0);
    expect_micro_steps("|HlmnplmnplmnplmnpLqrtuqrtuqrtuqrtuooR", 0);
    expect_micro_steps("|HffffffffbbbbbbbbooR", 0);
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
    expect_truth(play, 0.5);
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
    expect_truth(play, 0.5);
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
    expect_truth(play, 0.5);
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

/* DDP with no_sync: only the last micro-step reduces (A), the host pauses after each backward pass, and the optimizer,
 * whose first step makes its state (y), launches several kernels that each come once a step. */
static void test_accumulation_without_reductions(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int step = 0; step < 20; step++) {
        play_text(play, "|abcdefhi.abcdexfxhAixA.");
        for (uint32_t part = 0; part < 9; part++) {
            add_event(play, 'O', part);
            play_text(play, step ? "" : "y");
        }
    }
    play_text(play, "sAs");
    /* Neither of the first two steps follows or ends as the others do: one of them may be missed. */
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, play->truth_count - 1, play->truth_count);
    for (size_t i = 1; i <= found.count; i++) {
        assert_int_equal(found.ranges[found.count - i].first, play->truth[play->truth_count - i]);
    }
    gw_found_steps_clear(&found);
    end_play(play);
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

/* A thread of its own uploads the batches, on a stream of its own: now several follow each other, now none. Each stream
 * by itself is one operation over and over, so that nothing in it could be in another order. */
static void test_graph_replay_with_uploads_of_a_thread(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (int i = 0, ahead = 0; i < 30; i++) {
        int uploads = (int)dice(play, 4);
        uploads = ahead + uploads > 4 ? 4 - ahead : ahead + uploads < 2 ? 2 - ahead : uploads;
        ahead += uploads - 2;
        play_text(play, "|g");
        repeat_text(play, "H1", (size_t)uploads);
    }
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, 26, 30);
    gw_found_steps_clear(&found);
    end_play(play);
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

/* A loader's thread now and then uploads the next batch before the step's kernels are enqueued: two batches follow each
 * other, then none comes. */
static void test_loader_runs_ahead(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t i = 0; i < 30; i++) {
        bool ahead = i % 8 == 3, was_ahead = i % 8 == 4;
        repeat_text(play, "HH", was_ahead ? 0 : ahead ? 2 : 1);
        play_text(play, "bccdef");
    }
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_in_range(found.count, 29, 31);
    gw_found_steps_clear(&found);
    end_play(play);
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
    struct gw_found_steps found;
    find(play, &found);
    assert_true(!found.found || found.confidence < 0.5);
    gw_found_steps_clear(&found);
    end_play(play);
}

/* Operations by chance: any two handfuls of a thousand are much alike, and are no steps for that. */
static void test_chance_repeats_nothing(void **state)
{
    (void)state;
    static const char kinds[] = "abcdefghijklmnop";
    for (uint32_t rare = 100; rare <= 1000; rare += 300) {
        struct play *play = begin_play();
        for (uint32_t i = 0; i < 6000; i++) {
            add_event(play, dice(play, 10) ? kinds[dice(play, 8)] : kinds[dice(play, 16)], 0);
            play_text(play, dice(play, 3) ? "" : "1");
            play_text(play, dice(play, 30) ? "" : "R");
            play_text(play, dice(play, rare) ? "" : "Hs");
        }
        expect_none(play);
    }
}

static void test_empty(void **state)
{
    (void)state;
    expect_none(begin_play());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_micro_steps_are_counted),
        cmocka_unit_test(test_plain_loop),
        cmocka_unit_test(test_three_steps_are_enough),
        cmocka_unit_test(test_layers_within),
        cmocka_unit_test(test_decode_of_many_equal_layers),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_accumulation_with_fused_optimizer),
        cmocka_unit_test(test_accumulation_that_adds_gradients),
        cmocka_unit_test(test_accumulation_of_resident_batches),
        cmocka_unit_test(test_accumulation_without_reductions),
        cmocka_unit_test(test_equal_halves_divided_by_a_wait),
        cmocka_unit_test(test_equal_halves_divided_by_a_pause),
        cmocka_unit_test(test_equal_halves_that_nothing_divides),
        cmocka_unit_test(test_graph_replay_alone),
        cmocka_unit_test(test_graph_replay_with_upload),
        cmocka_unit_test(test_graph_replay_with_uploads_of_a_thread),
        cmocka_unit_test(test_two_streams_in_turn),
        cmocka_unit_test(test_shapes_drift),
        cmocka_unit_test(test_second_thread_uploads_anywhere),
        cmocka_unit_test(test_loader_runs_ahead),
        cmocka_unit_test(test_long_run_beyond_the_window),
        cmocka_unit_test(test_one_kernel_over_and_over),
        cmocka_unit_test(test_nothing_repeats),
        cmocka_unit_test(test_chance_repeats_nothing),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
