/*
 * Device time to CLOCK_MONOTONIC.
 *
 * An epoch is an event on a stream of the tool's own. Its place on CLOCK_MONOTONIC is found by probes: an event
 * recorded at host time t0 and seen complete at t1 happened between the two, so with d its distance from the epoch the
 * epoch lies in [t0 - d, t1 - d]; the intersection over all probes bounds it. cuEventElapsedTime answers in
 * single-precision milliseconds, whose 24 bits resolve 60 ns within a second: therefore a new epoch twice a second. Its
 * place is carried over from the one before as far as the new probes allow, which keeps intervals across epochs smooth.
 *
 * The clocks drift apart. By how much is fitted over up to a minute of epochs; what it may be off, times the distance
 * from the epoch, is part of each event's error. Before it is known, epochs are made more often.
 */
#include "shim/timing/events.h"

#include "shim/tracer/events.h"

#define EPOCH_MAX_NS 500000000u
#define EPOCH_MIN_NS 50000000u
#define EPOCH_ERROR_NS 2000.0 // by drift, at an epoch's end: decides how often there is a new one
#define DRIFT_MAX 5e-5        // of two crystals, one of them slewed
#define FIT_MIN_NS 5e8
#define FIT_MAX_NS 6e10
#define PROBES 8u
#define PROBE_MAX_NS 2000000u
#define PROBE_PAUSE_NS 50000

enum { STREAM_NON_BLOCKING = 1 };

static bool make_handles(struct gw_epoch *epoch, const struct gw_driver *driver)
{
    if (epoch->stream)
        return true;
    if (!driver->cuStreamCreate || !driver->cuEventCreate || !driver->cuEventQuery || !driver->cuEventElapsedTime)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if ((!epoch->event[i] && driver->cuEventCreate(&epoch->event[i], 0) != 0) ||
            (!epoch->probe[i] && driver->cuEventCreate(&epoch->probe[i], 0) != 0))
            return false;
    return driver->cuStreamCreate(&epoch->stream, STREAM_NON_BLOCKING) == 0;
}

// Records the event and waits until it is seen complete. Returns 0, or an error or time-out as a number above 0.
static int record_and_spin(const struct gw_epoch *epoch, const struct gw_driver *driver, gw_handle event,
                           uint64_t *ret_t0, uint64_t *ret_t1)
{
    const int not_ready = 600;
    int error;

    // Between two probes the driver is left to the program's threads: they wait for the same locks.
    nanosleep(&(struct timespec){.tv_nsec = PROBE_PAUSE_NS}, NULL);
    *ret_t0 = gw_now_ns();
    error = driver->cuEventRecord(event, epoch->stream);
    if (error != 0)
        return error;
    do {
        error = driver->cuEventQuery(event);
        *ret_t1 = gw_now_ns();
    } while (error == not_ready && *ret_t1 - *ret_t0 < PROBE_MAX_NS);
    return error;
}

static int distance_ns(const struct gw_driver *driver, gw_handle from, gw_handle to, double *ret_ns)
{
    float milliseconds;
    int error = driver->cuEventElapsedTime(&milliseconds, from, to);

    if (error == 0)
        *ret_ns = (double)milliseconds * 1e6;
    return error;
}

// The shortest interval between two events with nothing between them. Returns whether there was one to measure.
static bool measure_floor(struct gw_epoch *epoch, const struct gw_driver *driver)
{
    const double longest_ns = 1e9;
    double shortest_ns = longest_ns;

    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t t0, t1;
        double ns;

        if (driver->cuEventRecord(epoch->probe[0], epoch->stream) == 0 &&
            driver->cuEventRecord(epoch->probe[1], epoch->stream) == 0 &&
            record_and_spin(epoch, driver, epoch->event[0], &t0, &t1) == 0 &&
            distance_ns(driver, epoch->probe[0], epoch->probe[1], &ns) == 0 && ns < shortest_ns)
            shortest_ns = ns;
    }
    epoch->floor_ns = (uint64_t)shortest_ns;
    return shortest_ns < longest_ns;
}

// After a new epoch; `follows`: its distance from the one before is known.
static void fit_rate(struct gw_epoch *epoch, bool follows)
{
    if (!follows) {
        epoch->rate = 1;
        epoch->rate_error = DRIFT_MAX;
    }
    if (epoch->anchored_device_ns >= FIT_MIN_NS && follows) {
        epoch->rate = epoch->anchored_host_ns / epoch->anchored_device_ns;
        epoch->rate_error = (double)(epoch->anchor_error_ns + epoch->error_ns) / epoch->anchored_device_ns;
        epoch->rate_error = epoch->rate_error < DRIFT_MAX ? epoch->rate_error : DRIFT_MAX;
    }
    if (!follows || epoch->anchored_device_ns >= FIT_MAX_NS) {
        epoch->anchored_device_ns = epoch->anchored_host_ns = 0;
        epoch->anchor_error_ns = epoch->error_ns;
    }
}

static bool calibrate(struct gw_epoch *epoch, const struct gw_driver *driver)
{
    unsigned next = epoch->valid ? !epoch->current : epoch->current;
    gw_handle event = epoch->event[next];
    uint64_t t0, t1, base;

    if (record_and_spin(epoch, driver, event, &t0, &t1) != 0)
        return false;
    base = t0;
    double low = 0, high = (double)(t1 - t0), narrow_low = low, narrow_high = high;
    uint64_t round_trip_ns = t1 - t0;

    for (unsigned i = 0; i < PROBES; i++) {
        double distance;

        if (record_and_spin(epoch, driver, epoch->probe[0], &t0, &t1) != 0 ||
            distance_ns(driver, event, epoch->probe[0], &distance) != 0)
            return false;

        round_trip_ns = t1 - t0 < round_trip_ns ? t1 - t0 : round_trip_ns;

        double probe_low = (double)(t0 - base) - distance, probe_high = (double)(t1 - base) - distance;

        if (probe_high - probe_low < narrow_high - narrow_low) {
            narrow_low = probe_low;
            narrow_high = probe_high;
        }
        low = probe_low > low ? probe_low : low;
        high = probe_high < high ? probe_high : high;
    }
    if (low > high) { // the events' own resolution is coarser than the bounds
        low = narrow_low;
        high = narrow_high;
    }

    // A submission takes longer to reach the device than its completion takes to be seen, so the event lies nearer to
    // the second.
    double host = high - (high - low) / 4, elapsed_ns = 0;

    if (epoch->valid && distance_ns(driver, epoch->event[epoch->current], event, &elapsed_ns) == 0) {
        double before = epoch->host_ns - (double)(int64_t)(base - epoch->base_ns);
        double carried = before + elapsed_ns * epoch->rate;

        host = carried < low ? low : carried > high ? high : carried;
        epoch->anchored_device_ns += elapsed_ns;
        epoch->anchored_host_ns += host - before;
    }
    epoch->current = next;
    epoch->base_ns = base;
    epoch->host_ns = host;
    epoch->error_ns = (uint64_t)(high - host > host - low ? high - host : host - low);
    fit_rate(epoch, elapsed_ns > 0);
    epoch->round_trip_ns = round_trip_ns;
    epoch->made_ns = base;
    epoch->valid = true;
    return true;
}

bool gw_epoch_ready(struct gw_epoch *epoch, const struct gw_driver *driver, uint32_t device)
{
    double longest_ns = epoch->valid ? EPOCH_ERROR_NS / epoch->rate_error : 0;
    uint64_t age_max_ns = longest_ns < EPOCH_MIN_NS   ? EPOCH_MIN_NS
                          : longest_ns > EPOCH_MAX_NS ? EPOCH_MAX_NS
                                                      : (uint64_t)longest_ns;

    if (epoch->valid && gw_now_ns() - epoch->made_ns < age_max_ns)
        return true;
    if (!make_handles(epoch, driver))
        return false;
    if (!epoch->valid && !measure_floor(epoch, driver))
        return false;
    if (!calibrate(epoch, driver))
        return epoch->valid;
    lttng_ust_tracepoint(gpuwitness, gpu_clock, gw_tracer.pid, device, GW_TIMING_EVENTS,
                         epoch->base_ns + (uint64_t)(int64_t)epoch->host_ns, epoch->error_ns, epoch->floor_ns);
    return true;
}

int gw_epoch_time(const struct gw_epoch *epoch, const struct gw_driver *driver, gw_handle event, uint64_t *ret_ns,
                  uint64_t *ret_error_ns)
{
    double distance;
    int error = distance_ns(driver, epoch->event[epoch->current], event, &distance);

    if (error != 0)
        return error;
    *ret_ns = epoch->base_ns + (uint64_t)(int64_t)(epoch->host_ns + distance * epoch->rate);
    *ret_error_ns = epoch->error_ns + (uint64_t)((distance < 0 ? -distance : distance) * epoch->rate_error);
    return 0;
}
