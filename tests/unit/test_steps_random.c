/* The step finder on random training loops, disturbed at random: what a program does before, between and after its
 * steps, and how a step looks. Nearly all boundaries must be found, and few that are none. */
#include "tests/unit/play_fixture.h"

#define LOOPS 400u
#define FOUND_SHARE 0.95

/* A loop: what one micro-step and the update after the last of them enqueue. */
struct loop {
    char forward[48], backward[48], update[16];
    uint32_t uploads, layers, micro_steps, steps;
    uint32_t log_every, evaluate_every, save_every; /* 0: never */
    uint32_t warmup, trials;                        /* operations before the loop; kernels tried out there */
    bool reads, waits, drifts, pauses, streams;
};

static void random_text(struct play *play, char *text, uint32_t length, char from, uint32_t kinds)
{
    for (uint32_t i = 0; i < length; i++) {
        text[i] = (char)(from + (char)dice(play, kinds));
    }
    text[length] = '\0';
}

static uint32_t one_of(struct play *play, uint32_t most)
{
    return dice(play, 2) ? 0 : 2 + dice(play, most);
}

static struct loop random_loop(struct play *play)
{
    struct loop loop = {.uploads = 1 + dice(play, 3), .layers = 1 + dice(play, 12), .steps = 12 + dice(play, 60)};
    random_text(play, loop.forward, 1 + dice(play, 5), 'a', 6);
    random_text(play, loop.backward, (uint32_t)strlen(loop.forward) + dice(play, 4), 'h', 8);
    random_text(play, loop.update, 1 + dice(play, 6), 'A', 6);
    loop.micro_steps = dice(play, 3) ? 1 : 1u << (1 + dice(play, 3));
    loop.log_every = one_of(play, 12);
    loop.evaluate_every = dice(play, 2) ? one_of(play, 20) * 2 : one_of(play, 3);
    loop.save_every = one_of(play, 20) * 2;
    loop.warmup = dice(play, 3) ? dice(play, 40) : 0;
    loop.trials = dice(play, 4) ? 0 : dice(play, 9);
    loop.reads = dice(play, 2);
    loop.waits = dice(play, 2);
    loop.drifts = dice(play, 4) == 0;
    loop.pauses = dice(play, 2);
    loop.streams = dice(play, 4) == 0;
    return loop;
}

/* Layers meet now and then another shape, or are run on a second stream. */
static void play_layers(struct play *play, const struct loop *loop, const char *layer, uint32_t step)
{
    for (uint32_t l = 0; l < loop->layers; l++) {
        for (const char *letter = layer; *letter; letter++) {
            add_event(play, *letter, loop->drifts && dice(play, 6) == 0 ? 1 + step / 8 : 0);
            if (loop->streams && l % 2) {
                play_text(play, "1");
            }
        }
        if (loop->pauses && dice(play, 40) == 0) {
            play_text(play, ".");
        }
    }
}

static void play_step(struct play *play, const struct loop *loop, uint32_t step)
{
    play_text(play, "|");
    for (uint32_t micro = 0; micro < loop->micro_steps; micro++) {
        repeat_text(play, "H", loop->uploads);
        play_layers(play, loop, loop->forward, step);
        play_layers(play, loop, loop->backward, step);
    }
    play_text(play, loop->update);
    play_text(play, loop->reads ? "R" : "");
    play_text(play, loop->waits ? "s" : "");
}

static void play_between(struct play *play, const struct loop *loop, uint32_t step)
{
    if (loop->log_every && step % loop->log_every == loop->log_every - 1) {
        play_text(play, "Rs");
    }
    if (loop->evaluate_every && step % loop->evaluate_every == loop->evaluate_every - 1) {
        for (uint32_t batch = 0; batch < 1 + loop->evaluate_every / 4; batch++) {
            repeat_text(play, "H", loop->uploads);
            play_layers(play, loop, loop->forward, 0);
            play_text(play, "eR");
        }
    }
    if (loop->save_every && step % loop->save_every == loop->save_every - 1) {
        repeat_text(play, "R", 10 + loop->layers);
    }
}

static void play_loop(struct play *play, const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->warmup; i++) {
        add_event(play, (char)('a' + (char)dice(play, 20)), 40 + dice(play, 20));
    }
    for (uint32_t kernel = 0; kernel < loop->trials; kernel++) {
        for (uint32_t i = 0; i < 50; i++) {
            play_text(play, "z");
            add_event(play, (char)('h' + (char)kernel), 0);
        }
        play_text(play, "s");
    }
    for (uint32_t step = 0; step < loop->steps; step++) {
        play_step(play, loop, step);
        play_between(play, loop, step);
    }
}

static void describe(uint32_t seed, const struct loop *loop, const struct play *play,
                     const struct gw_found_steps *found, size_t right)
{
    print_message("seed %u: %zu of %zu begins found, %zu steps; %u x (%u uploads, %u x %s, "
                  "%u x %s), %s; "
                  "log %u evaluate %u save %u warmup %u trials %u%s%s%s%s%s\n",
                  seed, right, play->truth_count, found->count, loop->micro_steps, loop->uploads, loop->layers,
                  loop->forward, loop->layers, loop->backward, loop->update, loop->log_every, loop->evaluate_every,
                  loop->save_every, loop->warmup, loop->trials, loop->reads ? " reads" : "",
                  loop->waits ? " waits" : "", loop->drifts ? " drifts" : "", loop->pauses ? " pauses" : "",
                  loop->streams ? " streams" : "");
}

static void test_random_loops(void **state)
{
    (void)state;
    struct tally tally = {.share = FOUND_SHARE};
    for (uint32_t seed = 0; seed < LOOPS; seed++) {
        struct play *play = begin_play();
        struct gw_found_steps found;
        play->random += seed * 2654435761u;
        struct loop loop = random_loop(play);
        play_loop(play, &loop);
        find(play, &found);
        if (!tally_add(&tally, play, &found)) {
            describe(seed, &loop, play, &found, tally.last_right);
        }
        gw_found_steps_clear(&found);
        end_play(play);
    }
    tally_expect(&tally, "random loops");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
