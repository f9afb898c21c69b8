#include "tests/unit/play_fixture.h"

#define CALL_NS 2000u
#define STREAMS 10u
#define VARIANT 1000u /* token of the same letter in another shape */

static void grow(struct play *play)
{
    play->room = play->room ? 2 * play->room : 4096;
    play->sequence.events = realloc(play->sequence.events, play->room * sizeof(*play->sequence.events));
    play->truth = realloc(play->truth, play->room * sizeof(*play->truth));
    assert_non_null(play->sequence.events);
    assert_non_null(play->truth);
}

struct play *begin_play(void)
{
    struct play *play = calloc(1, sizeof(*play));
    assert_non_null(play);
    grow(play);
    play->sequence.token_count = 256 + VARIANT * 64;
    play->sequence.lane_count = play->sequence.token_count * STREAMS;
    play->sequence.stream_count = STREAMS;
    play->sequence.lane_streams = malloc(play->sequence.lane_count * sizeof(*play->sequence.lane_streams));
    assert_non_null(play->sequence.lane_streams);
    for (uint32_t lane = 0; lane < play->sequence.lane_count; lane++) {
        play->sequence.lane_streams[lane] = lane % STREAMS;
    }
    play->random = 12345;
    return play;
}

void end_play(struct play *play)
{
    free(play->sequence.events);
    free(play->sequence.lane_streams);
    free(play->truth);
    free(play);
}

uint32_t dice(struct play *play, uint32_t sides)
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
    case 'U':
        return GW_TRAIT_KERNEL | GW_TRAIT_UPDATE;
    default:
        return GW_TRAIT_KERNEL;
    }
}

void add_event(struct play *play, char letter, uint32_t variant)
{
    struct gw_sequence *sequence = &play->sequence;
    if (sequence->count == play->room) {
        grow(play);
    }
    struct gw_sequence_event *event = &sequence->events[sequence->count];
    uint64_t length_ns = letter == 's' || letter == 'R' ? 20 * CALL_NS : CALL_NS;
    *event = (struct gw_sequence_event){.begin_ns = play->now_ns,
                                        .token = (uint32_t)(unsigned char)letter + variant * VARIANT,
                                        .op = letter == 's' ? GW_NONE : (uint32_t)sequence->count,
                                        .traits = traits_of(letter) & 0x3fu};
    event->lane = event->token * STREAMS;
    event->silence_ns = (sequence->count ? event->begin_ns - play->left_ns : 0) & GW_SILENCE_MOST_NS;
    play->left_ns = play->now_ns + length_ns;
    play->now_ns = play->left_ns + 300;
    if (play->step_due && letter != 's') {
        play->truth[play->truth_count++] = sequence->count;
        play->step_due = false;
    }
    sequence->count++;
}

void play_text(struct play *play, const char *text)
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

void repeat_text(struct play *play, const char *text, size_t times)
{
    while (times--) {
        play_text(play, text);
    }
}

void find(struct play *play, struct gw_found_steps *ret_found)
{
    assert_int_equal(gw_found_steps_find(&play->sequence, ret_found), 0);
}

bool tally_add(struct tally *tally, const struct play *play, const struct gw_found_steps *found)
{
    size_t right = 0, t = 0;
    for (size_t i = 0; i < found->count; i++) {
        const size_t first = found->ranges[i].first;
        while (t < play->truth_count && play->truth[t] < first) {
            t++;
        }
        right += t < play->truth_count && play->truth[t] <= first + tally->near;
    }
    const bool enough = (double)right >= tally->share * (double)play->truth_count - 1;
    tally->loops++;
    tally->bad += !enough;
    tally->truth += play->truth_count;
    tally->right += right;
    tally->wrong += found->count - right;
    tally->last_right = right;
    return enough;
}

void tally_expect(const struct tally *tally, const char *what)
{
    print_message(
        "%s: %zu of %zu begins found, and %zu others; %zu of %zu loops with more than one in twenty missing\n", what,
        tally->right, tally->truth, tally->wrong, tally->bad, tally->loops);
    assert_true((double)tally->right >= tally->share * (double)tally->truth);
    assert_true((double)tally->wrong <= (1 - tally->share) * (double)tally->truth);
}

/* All steps found, each where it begins, and none besides. */
void expect_truth(struct play *play, double confidence_min)
{
    struct gw_found_steps found;
    find(play, &found);
    assert_true(found.found);
    assert_int_equal(found.count, play->truth_count);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.ranges[i].first, play->truth[i]);
    }
    assert_true(found.confidence >= confidence_min);
    gw_found_steps_clear(&found);
    end_play(play);
}

void expect_none(struct play *play)
{
    struct gw_found_steps found;
    find(play, &found);
    assert_false(found.found);
    gw_found_steps_clear(&found);
    end_play(play);
}
