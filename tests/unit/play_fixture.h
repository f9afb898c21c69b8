/*
 * Sequences for the step finder written as text: a letter an operation, the truth marked in it.
 */
#ifndef GW_TESTS_UNIT_PLAY_FIXTURE_H
#define GW_TESTS_UNIT_PLAY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/sequence.h"

#define PAUSE_NS 100000u

/*
 * H upload, R read, s wait, g graph replay, U an update by its name, other letters kernels; a digit puts the operation
 * before it on that stream;
 * '.' a pause of the host; '|' a step begins with the next operation.
 */
struct play {
    struct gw_sequence sequence;
    uint64_t now_ns, left_ns; /* left_ns: when the last call ended */
    size_t *truth;            /* begins of steps, as events */
    size_t truth_count, room; /* room: of both arrays */
    bool step_due;
    uint32_t random;
};

struct play *begin_play(void);
void end_play(struct play *play);

/* A number below sides, the same ones in each run. */
uint32_t dice(struct play *play, uint32_t sides);

/* Adds one operation; variant: the same letter in another shape, at most 63. */
void add_event(struct play *play, char letter, uint32_t variant);
void play_text(struct play *play, const char *text);
void repeat_text(struct play *play, const char *text, size_t times);

/* Runs the finder; release with gw_found_steps_clear. */
void find(struct play *play, struct gw_found_steps *ret_found);

/* What is found of many loops: begins of true steps, and others. */
struct tally {
    double share; /* of a loop's begins that should be found, and of all begins that must be */
    size_t near;  /* a begin so many events before the true one is right as well */
    size_t loops, bad, truth, right, wrong;
    size_t last_right; /* of the last loop */
};

/* Returns whether enough begins of this loop were found; one may always be missing. */
bool tally_add(struct tally *tally, const struct play *play, const struct gw_found_steps *found);

/* The test fails when too few of all were found, or too many others. */
void tally_expect(const struct tally *tally, const char *what);

/* All steps found, each where it begins, and none besides; or nothing found at all. Both end the play. */
void expect_truth(struct play *play, double confidence_min);
void expect_none(struct play *play);

#endif
