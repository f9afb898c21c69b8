/*
 * Device time to CLOCK_MONOTONIC.
 *
 * An epoch is an event on a stream of the tool's own. Its place on CLOCK_MONOTONIC is found by probes: an event
 * recorded at host time t0 and seen complete at t1 happened between the two, so with d its distance from the epoch the
 * epoch lies in [t0 - d, t1 - d]; the intersection over all probes bounds it. cuEventElapsedTime answers in
 * single-precision milliseconds, whose 24 bits resolve 60 ns within a second: therefore a new epoch twice a second. Its
 * place is carried over from the one before as far as the new probes allow, which keeps intervals across epochs smooth
 * while the two clocks drift apart.
 */
#include "shim/timing/events.h"

#include "shim/tracer/events.h"

#define EPOCH_MAX_NS 500000000u
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
    double host = high - (high - low) / 4, carried;

    if (epoch->valid && distance_ns(driver, epoch->event[epoch->current], event, &carried) == 0) {
        carried += (double)epoch->base_ns + epoch->host_ns - (double)base;
        host = carried < low ? low : carried > high ? high : carried;
    }
    epoch->current = next;
    epoch->base_ns = base;
    epoch->host_ns = host;
    epoch->error_ns = (uint64_t)(high - host > host - low ? high - host : host - low);
    epoch->round_trip_ns = round_trip_ns;
    epoch->made_ns = base;
    epoch->valid = true;
    return true;
}

bool gw_epoch_ready(struct gw_epoch *epoch, const struct gw_driver *driver, uint32_t device)
{
    if (epoch->valid && gw_now_ns() - epoch->made_ns < EPOCH_MAX_NS)
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

int gw_epoch_time(const struct gw_epoch *epoch, const struct gw_driver *driver, gw_handle event, uint64_t *ret_ns)
{
    double distance;
    int error = distance_ns(driver, epoch->event[epoch->current], event, &distance);

    if (error == 0)
        *ret_ns = epoch->base_ns + (uint64_t)(int64_t)(epoch->host_ns + distance);
    return error;
}
