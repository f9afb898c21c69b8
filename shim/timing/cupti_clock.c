/*
 * CUPTI's clock to CLOCK_MONOTONIC.
 *
 * CUPTI's times are on a clock of its choice (the time of day on Linux, which is slewed and stepped). Both clocks are
 * read together before the first operation and at each flush; a time between two such pairs is placed by the straight
 * line between them. Its error is that of the wider reading, or, where the clock was set between the two, by as much as
 * it was set.
 */
#include "shim/timing/cupti.h"
#include "shim/tracer/tracer.h"

#define PAIRS 4096u
#define PAIR_DISTANCE_NS 100000000u // kept pairs are at least that far apart
#define TRIES 5u
#define SLEW_MAX 0.001 // twice what adjusting the time of day may do

struct pair {
    uint64_t timestamp, host_ns, error_ns;
};

static struct pair pairs[PAIRS];
static uint64_t pair_count; // ever kept; the latest one moves until it is far enough from the one before

static struct pair *pair_at(uint64_t number)
{
    return &pairs[number % PAIRS];
}

int gw_cupti_clock_read(const struct gw_cupti *cupti)
{
    struct pair best = {.error_ns = UINT64_MAX};

    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t timestamp, before = gw_now_ns();
        int error = cupti->cuptiGetTimestamp(&timestamp);
        uint64_t after = gw_now_ns();

        if (error != GW_CUPTI_SUCCESS)
            return error;
        if ((after - before + 1) / 2 < best.error_ns)
            best = (struct pair){timestamp, before + (after - before) / 2, (after - before + 1) / 2};
    }
    if (pair_count < 2 || pair_at(pair_count - 1)->host_ns - pair_at(pair_count - 2)->host_ns >= PAIR_DISTANCE_NS)
        pair_count++;
    *pair_at(pair_count - 1) = best;
    return GW_CUPTI_SUCCESS;
}

void gw_cupti_clock_latest(uint64_t *ret_host_ns, uint64_t *ret_error_ns)
{
    const struct pair *pair = pair_at(pair_count - 1);

    *ret_host_ns = pair->host_ns;
    *ret_error_ns = pair->error_ns;
}

// The number of the pair before `timestamp`: the latest one not later, never the last of all.
static uint64_t pair_before(uint64_t timestamp)
{
    uint64_t oldest = pair_count > PAIRS ? pair_count - PAIRS : 0, number = pair_count - 2;

    while (number > oldest && (int64_t)(pair_at(number)->timestamp - timestamp) > 0)
        number--;
    return number;
}

// What the clocks may have moved apart over a stretch that no pair closes.
static uint64_t open_error_ns(int64_t stretch_ns)
{
    double size = stretch_ns < 0 ? -(double)stretch_ns : (double)stretch_ns;

    return (uint64_t)(SLEW_MAX * size);
}

uint64_t gw_cupti_clock_time(uint64_t timestamp, uint64_t *ret_error_ns)
{
    if (pair_count < 2) {
        int64_t since = (int64_t)(timestamp - pair_at(0)->timestamp);

        *ret_error_ns = pair_at(0)->error_ns + open_error_ns(since);
        return pair_at(0)->host_ns + (uint64_t)since;
    }
    uint64_t number = pair_before(timestamp);
    const struct pair *left = pair_at(number), *right = pair_at(number + 1);
    double elapsed = (double)(int64_t)(right->timestamp - left->timestamp);
    double host_elapsed = (double)(right->host_ns - left->host_ns), gained = host_elapsed - elapsed;
    uint64_t wider = left->error_ns > right->error_ns ? left->error_ns : right->error_ns;
    double allowed = SLEW_MAX * host_elapsed + (double)(left->error_ns + right->error_ns);
    double size = gained < 0 ? -gained : gained;
    int64_t since = (int64_t)(timestamp - left->timestamp);

    if (size > allowed || elapsed <= 0) { // the clock was set in between
        *ret_error_ns = wider + (uint64_t)size;
        return left->host_ns + (uint64_t)since;
    }
    *ret_error_ns = wider + 1; // rounding
    if (since < 0)
        *ret_error_ns += open_error_ns(since);
    else if ((double)since > elapsed)
        *ret_error_ns += open_error_ns((int64_t)(timestamp - right->timestamp));
    return left->host_ns + (uint64_t)since + (uint64_t)(int64_t)(gained * (double)since / elapsed);
}
