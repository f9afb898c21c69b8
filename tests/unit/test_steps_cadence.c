/* The step finder on random loops in which not every step is like the next: accumulation over now more, now fewer
 * micro-steps, an evaluation after every second step, extra work in every few steps. */
#include "tests/unit/play_fixture.h"

#define LOOPS 100u
#define FOUND_SHARE 0.95
#define NEAR 2u /* events: what the host reads and waits for at the end of a step may begin the next one */

/* What a micro-step and the update after the last of them enqueue. */
struct loop {
    char forward[48], backward[48], update[24];
    uint32_t uploads, layers, layers_update;
    bool reads, waits, pauses;
};

static void random_text(struct play *play, char *text, uint32_t length, char from, uint32_t kinds)
{
    for (uint32_t i = 0; i < length; i++) {
        text[i] = (char)(from + (char)dice(play, kinds));
    }
    text[length] = '\0';
}

static struct loop random_loop(struct play *play, bool named)
{
    struct loop loop = {.uploads = 1 + dice(play, 3), .layers = 1 + dice(play, 12)};
    random_text(play, loop.forward, 1 + dice(play, 5), 'a', 6);
    random_text(play, loop.backward, (uint32_t)strlen(loop.forward) + dice(play, 4), 'h', 8);
    random_text(play, loop.update, 1 + dice(play, 8), 'A', 6);
    for (char *letter = loop.update; *letter && named; letter++) {
        *letter = letter == loop.update || dice(play, 2) ? 'U' : *letter;
    }
    loop.layers_update = dice(play, 2) ? 1 : 1 + dice(play, 8);
    loop.reads = dice(play, 2);
    loop.waits = dice(play, 2);
    loop.pauses = dice(play, 2);
    return loop;
}

static void play_layers(struct play *play, const struct loop *loop, const char *layer)
{
    for (uint32_t l = 0; l < loop->layers; l++) {
        play_text(play, layer);
        play_text(play, loop->pauses && dice(play, 40) == 0 ? "." : "");
    }
}

static void play_micro_step(struct play *play, const struct loop *loop)
{
    repeat_text(play, "H", loop->uploads);
    play_layers(play, loop, loop->forward);
    play_layers(play, loop, loop->backward);
}

static void play_step(struct play *play, const struct loop *loop, uint32_t micro_steps)
{
    play_text(play, "|");
    for (uint32_t micro = 0; micro < micro_steps; micro++) {
        play_micro_step(play, loop);
    }
    repeat_text(play, loop->update, loop->layers_update);
    play_text(play, loop->reads ? "R" : "");
    play_text(play, loop->waits ? "s" : "");
}

static void play_evaluation(struct play *play, const struct loop *loop, uint32_t batches)
{
    for (uint32_t batch = 0; batch < batches; batch++) {
        repeat_text(play, "H", loop->uploads);
        play_layers(play, loop, loop->forward);
        play_text(play, "eR");
    }
}

static void play_varying(struct play *play, const struct loop *loop)
{
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, loop, 2 + dice(play, 4));
    }
}

static void play_evaluated(struct play *play, const struct loop *loop)
{
    uint32_t micro_steps = 2 + dice(play, 3), batches = 1 + dice(play, 3);
    for (uint32_t step = 0; step < 40; step++) {
        play_step(play, loop, micro_steps);
        play_evaluation(play, loop, step % 2 ? batches : 0);
    }
}

static void play_every_eighth(struct play *play, const struct loop *loop, const char *extra)
{
    for (uint32_t step = 0; step < 64; step++) {
        play_step(play, loop, 1);
        if (step % 8 == 7) {
            play_text(play, extra);
        }
    }
}

static void play_saved(struct play *play, const struct loop *loop)
{
    play_every_eighth(play, loop, "RRRRRRRRRRRRRRRRRRRRRRRRs");
}

static void play_logged(struct play *play, const struct loop *loop)
{
    play_every_eighth(play, loop, "xyzRs");
}

static void play_averaged(struct play *play, const struct loop *loop)
{
    play_every_eighth(play, loop, "xyzxyz");
}

static void play_paused(struct play *play, const struct loop *loop)
{
    play_every_eighth(play, loop, "s.");
}

static void play_evaluated_every_eighth(struct play *play, const struct loop *loop)
{
    uint32_t batches = 1 + dice(play, 4);
    for (uint32_t step = 0; step < 64; step++) {
        play_step(play, loop, 1);
        play_evaluation(play, loop, step % 8 == 7 ? batches : 0);
    }
}

/* Evaluations of now more, now fewer batches, read once each: up to two fifths of all batches. */
static void play_evaluated_at_length(struct play *play, const struct loop *loop)
{
    const uint32_t every = 5 + dice(play, 11);
    for (uint32_t step = 0; step < 80; step++) {
        play_step(play, loop, 1);
        for (uint32_t batch = step % every == every - 1 ? 2 + dice(play, 6) : 0; batch > 0; batch--) {
            repeat_text(play, "H", loop->uploads);
            play_layers(play, loop, loop->forward);
            play_text(play, batch > 1 ? "x" : "xRs");
        }
    }
}

/* A pause in the middle of every eighth step. */
static void play_paused_within(struct play *play, const struct loop *loop)
{
    for (uint32_t step = 0; step < 64; step++) {
        play_text(play, "|");
        repeat_text(play, "H", loop->uploads);
        play_layers(play, loop, loop->forward);
        play_text(play, step % 8 == 7 ? "." : "");
        play_layers(play, loop, loop->backward);
        repeat_text(play, loop->update, loop->layers_update);
        play_text(play, loop->reads ? "R" : "");
        play_text(play, loop->waits ? "s" : "");
    }
}

/* Gradients are clipped before the update, whose kernels handle many parameters at a time. */
static void play_clipped(struct play *play, const struct loop *loop)
{
    for (uint32_t step = 0; step < 24; step++) {
        play_text(play, "|");
        for (uint32_t micro = 0; micro < 4; micro++) {
            play_micro_step(play, loop);
        }
        play_text(play, "nnnpqrmmm");
        repeat_text(play, "A", 1 + loop->layers_update);
        repeat_text(play, "BCD", loop->layers_update);
        play_text(play, loop->reads ? "R" : "");
    }
}

static void expect_most_of_all(const char *what, bool named, void (*play_loop)(struct play *, const struct loop *))
{
    struct tally tally = {.share = FOUND_SHARE, .near = NEAR};
    for (uint32_t seed = 0; seed < LOOPS; seed++) {
        struct play *play = begin_play();
        struct gw_found_steps found;
        play->random += seed * 2654435761u;
        struct loop loop = random_loop(play, named);
        play_loop(play, &loop);
        find(play, &found);
        if (!tally_add(&tally, play, &found)) {
            print_message("%s, seed %u: %zu of %zu begins found, %zu steps; %u uploads, "
                          "%u x %s, %u x %s, %u x %s%s%s%s\n",
                          what, seed, tally.last_right, play->truth_count, found.count, loop.uploads, loop.layers,
                          loop.forward, loop.layers, loop.backward, loop.layers_update, loop.update,
                          loop.reads ? " reads" : "", loop.waits ? " waits" : "", loop.pauses ? " pauses" : "");
        }
        gw_found_steps_clear(&found);
        end_play(play);
    }
    tally_expect(&tally, what);
}

/* Kernels that say that they update parameters tell steps from micro-steps, and extra kernels from an update. */
static void test_varying_micro_steps(void **state)
{
    (void)state;
    expect_most_of_all("varying micro-steps", true, play_varying);
}

static void test_evaluation_every_second_step(void **state)
{
    (void)state;
    expect_most_of_all("evaluation every second step", true, play_evaluated);
}

static void test_metrics_every_eighth_step(void **state)
{
    (void)state;
    expect_most_of_all("metrics every eighth step", true, play_logged);
}

static void test_average_every_eighth_step(void **state)
{
    (void)state;
    expect_most_of_all("average every eighth step", true, play_averaged);
}

/* Of what follows, the order of operations tells enough. */
static void expect_both(const char *what, void (*play_loop)(struct play *, const struct loop *))
{
    expect_most_of_all(what, true, play_loop);
    expect_most_of_all(what, false, play_loop);
}

static void test_checkpoint_every_eighth_step(void **state)
{
    (void)state;
    expect_both("checkpoint every eighth step", play_saved);
}

static void test_evaluation_every_eighth_step(void **state)
{
    (void)state;
    expect_both("evaluation every eighth step", play_evaluated_every_eighth);
}

static void test_evaluation_at_length(void **state)
{
    (void)state;
    expect_most_of_all("evaluation at length", true, play_evaluated_at_length);
}

static void test_pause_after_every_eighth_step(void **state)
{
    (void)state;
    expect_both("pause after every eighth step", play_paused);
}

static void test_pause_within_every_eighth_step(void **state)
{
    (void)state;
    expect_both("pause within every eighth step", play_paused_within);
}

static void test_clipped_accumulation(void **state)
{
    (void)state;
    expect_both("clipped accumulation", play_clipped);
}

/* An evaluation has no update: it belongs to no step, however long it is. */
static void test_evaluation_after_an_update(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 40; step++) {
        play_text(play, "|HffffffffbbbbbbbbU");
        repeat_text(play, "e", step == 19 ? 120 : 0);
    }
    expect_truth(play, 0.7);
}

/* Kernels that update parameters all over a step, which meets the host but once, divide none. */
static void test_updates_all_over_a_step(void **state)
{
    (void)state;
    struct play *play = begin_play();
    for (uint32_t step = 0; step < 8; step++) {
        play_text(play, "|H");
        repeat_text(play, "Uaa", 300);
    }
    expect_truth(play, 0.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varying_micro_steps),           cmocka_unit_test(test_evaluation_every_second_step),
        cmocka_unit_test(test_metrics_every_eighth_step),     cmocka_unit_test(test_average_every_eighth_step),
        cmocka_unit_test(test_checkpoint_every_eighth_step),  cmocka_unit_test(test_evaluation_every_eighth_step),
        cmocka_unit_test(test_pause_after_every_eighth_step), cmocka_unit_test(test_pause_within_every_eighth_step),
        cmocka_unit_test(test_clipped_accumulation),          cmocka_unit_test(test_evaluation_after_an_update),
        cmocka_unit_test(test_updates_all_over_a_step),       cmocka_unit_test(test_evaluation_at_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
