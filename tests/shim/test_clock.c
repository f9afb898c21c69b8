// A thread's own clock against CLOCK_MONOTONIC: it lies between a reading before and one after, but for what its pairs
// may be off.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shim/tracer/clock.h"

#define ERROR_NS 150u // a pair's readings lie at most 100 ns apart; the rest is rounding and an adjusted clock
#define LASTS_NS 300000000u
#define LONGEST_NS 10000000000u
#define READINGS 1000u

static struct gw_clock clock_of_thread;
static uint64_t by_counter;

static void agree(void)
{
    uint64_t limit_ticks = clock_of_thread.limit_ticks, pair_ticks = clock_of_thread.ticks;
    uint64_t before_ns = gw_now_ns(), read_ns = gw_clock_read(&clock_of_thread), after_ns = gw_now_ns();

    assert_in_range(read_ns, before_ns - ERROR_NS, after_ns + ERROR_NS);
    by_counter += limit_ticks > 0 && clock_of_thread.ticks == pair_ticks; // no new pair was made
}

static void the_clock_is_the_kernels(void **state)
{
    (void)state;
    gw_clock_init();
    // So long that its rate is taken anew some times, and until it is gone on from at all, if it ever is.
    for (uint64_t begin_ns = gw_now_ns(), now_ns = begin_ns;
         now_ns - begin_ns < LASTS_NS || (by_counter < READINGS && now_ns - begin_ns < LONGEST_NS);
         now_ns = gw_now_ns())
        agree();
}

// What it went on from is too old then.
static void after_a_pause_it_is_read_anew(void **state)
{
    const struct timespec pause = {.tv_nsec = 2000000};

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        nanosleep(&pause, NULL);
        agree();
    }
}

static void it_ran_on_the_counter_if_the_kernels_does(void **state)
{
    (void)state;
    if (clock_of_thread.rate)
        assert_true(by_counter >= READINGS);
    else
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_the_kernels),
        cmocka_unit_test(after_a_pause_it_is_read_anew),
        cmocka_unit_test(it_ran_on_the_counter_if_the_kernels_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
