// The thread of the `cupti` backend: asks for finished buffers, emits what is in them, and lets CUPTI go.
#include <stdio.h>

#include "shim/timing/cupti.h"
#include "shim/timing/cupti_buffers.h"
#include "shim/timing/window.h"
#include "shim/timing/worker.h"
#include "shim/tracer/events.h"
#include "shim/tracer/tracer.h"

#define FLUSH_NS 20000000u
#define CLOCK_EVENT_NS 500000000u
#define LAST_FLUSH_NS 1000000u
#define QUIET_NS 20000000u // at the end: how long nothing must come until what is left is taken to be running
#define END_MAX_NS 500000000u
#define FORCED_FLUSHES 3u
#define FOREIGN_CALLS 16u
#define FOREIGN_MAX 64u    // records of no call of ours while there is none of ours
#define SILENT_CALLS 1000u // calls after which, and after SILENT_NS, there must have been a record
#define SILENT_NS 5000000000u
#define WINDOW_LEAD_NS 3000000u
#define WINDOW_REST_NS 200000000u
#define DEVICES_MAX 64u

static struct gw_worker worker = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const struct gw_cupti *cupti;
static bool stopping, asked, letting_go, ended; // under the worker's lock

static uint64_t entered, lost, failed; // calls; those whose entry gave way unseen; those that put nothing on a stream
static uint64_t missed;                // operations enqueued while CUPTI was let go
static uint64_t devices;               // bit a device seen

// The thread's own.
static struct gw_cupti_counts counts;
static uint64_t clock_told_ns, dropped;
static int read_error;
static const char *read_error_of;
static bool is_on = true;

void gw_cupti_entered(uint32_t device, bool kept)
{
    if (device < DEVICES_MAX)
        __atomic_fetch_or(&devices, (uint64_t)1 << device, __ATOMIC_RELAXED);
    if (!kept)
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&entered, 1, __ATOMIC_SEQ_CST);
    gw_worker_wake_sleeping(&worker);
}

void gw_cupti_failed(void)
{
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
}

void gw_cupti_missed(void)
{
    __atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
}

void gw_cupti_ask(void)
{
    pthread_mutex_lock(&worker.lock);
    asked = true;
    pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

static bool all_seen(void)
{
    return counts.first + __atomic_load_n(&lost, __ATOMIC_RELAXED) + __atomic_load_n(&failed, __ATOMIC_RELAXED) >=
           __atomic_load_n(&entered, __ATOMIC_SEQ_CST);
}

static void note_error(int error, const char *function)
{
    if (error == GW_CUPTI_SUCCESS || read_error != GW_CUPTI_SUCCESS)
        return;
    read_error = error;
    read_error_of = function;
}

static void tell_clock(void)
{
    uint64_t host_ns, error_ns;

    gw_cupti_clock_latest(&host_ns, &error_ns);
    if (clock_told_ns && host_ns - clock_told_ns < CLOCK_EVENT_NS)
        return;
    clock_told_ns = host_ns;
    for (uint32_t device = 0; device < DEVICES_MAX; device++)
        if (__atomic_load_n(&devices, __ATOMIC_RELAXED) >> device & 1)
            lttng_ust_tracepoint(gpuwitness, gpu_clock, gw_tracer.pid, device, GW_TIMING_CUPTI, host_ns, error_ns,
                                 (uint64_t)1);
}

// Has finished buffers handed over and emits what is in them. Returns whether there was any record.
static bool drain(uint32_t flags)
{
    size_t now_dropped = 0, bytes = 0;

    note_error(cupti->cuptiActivityFlushAll(flags), "cuptiActivityFlushAll");
    // After the flush, so that every record lies between two readings.
    note_error(gw_cupti_clock_read(cupti), "cuptiGetTimestamp");
    for (struct gw_cupti_buffer *buffer = gw_cupti_buffers_take(), *next; buffer; buffer = next) {
        next = buffer->next;
        bytes += buffer->valid;
        note_error(gw_cupti_read_buffer(cupti, buffer->bytes, buffer->valid), "cuptiActivityGetNextRecord");
        gw_cupti_buffer_free(buffer);
    }
    gw_cupti_emit(&counts);
    int error = cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &now_dropped);
    note_error(error, "cuptiActivityGetNumDroppedRecords");
    dropped += error == GW_CUPTI_SUCCESS ? now_dropped : 0;
    if (bytes)
        tell_clock();
    return bytes > 0;
}

// What comes at the end: until all is seen, or nothing more arrives.
static void drain_rest(void)
{
    uint64_t began_ns = gw_now_ns(), last_ns = began_ns, now_ns;
    bool came;

    do {
        came = drain(0);
        now_ns = gw_now_ns();
        last_ns = came ? now_ns : last_ns;
        if (all_seen() && !came)
            break;
        pthread_mutex_lock(&worker.lock);
        gw_worker_wait(&worker, &worker.wake, LAST_FLUSH_NS);
        pthread_mutex_unlock(&worker.lock);
    } while (now_ns - last_ns < QUIET_NS && now_ns - began_ns < END_MAX_NS);
}

// Forced only at the end, because a forced flush hands over records whose operations are not complete, and nothing
// comes of these later. Whoever uses CUPTI next must get neither records nor buffers of ours: so no kind is on when the
// last flush takes both away, and it is repeated while a buffer is still out.
static void drain_last(void)
{
    drain_rest();
    if (letting_go)
        gw_cupti_disable(cupti);
    drain(GW_CUPTI_FLUSH_FORCED);
    for (unsigned i = 1; letting_go && i < FORCED_FLUSHES && gw_cupti_buffers_out(); i++)
        drain(GW_CUPTI_FLUSH_FORCED);
    if (letting_go)
        note_error(cupti->cuptiUnsubscribe(cupti->subscriber), "cuptiUnsubscribe");
}

// Keeps CUPTI on in windows of timing, and a little before, and off when nothing is left of them or has been for long.
// Returns for how long nothing of that is to be done. Not under the lock: CUPTI's callbacks take it.
static uint64_t keep_to_window(void)
{
    static uint64_t off_since_ns;
    uint64_t change_ns, lead_change_ns, now_ns = gw_now_ns();
    bool on = gw_window_at(now_ns, &change_ns);

    on |= gw_window_at(now_ns + WINDOW_LEAD_NS, &lead_change_ns);
    off_since_ns = on ? 0 : off_since_ns ? off_since_ns : now_ns;
    if (on != is_on && (on || all_seen() || now_ns - off_since_ns > WINDOW_REST_NS)) {
        note_error(gw_cupti_switch(cupti, on), "cuptiActivityEnable");
        is_on = on;
    }
    return lead_change_ns < change_ns ? lead_change_ns : change_ns;
}

static void say_untimed(uint64_t operations, const char *why)
{
    char number[24];

    if (!operations)
        return;
    snprintf(number, sizeof(number), "%llu", (unsigned long long)operations);
    gw_coverage(GW_COVERAGE_UNTIMED, number, why);
}

static void say_what_is_missing(void)
{
    const char *name = NULL;
    char detail[160];
    unsigned out = gw_cupti_buffers_out();

    // What was dropped or not kept were the records of operations that have none, or further ones of a graph's launch.
    uint64_t unrecorded = entered - lost - failed - counts.first;
    uint64_t dropped_operations = dropped < unrecorded ? dropped : unrecorded;
    uint64_t unread = counts.unread < unrecorded - dropped_operations ? counts.unread : unrecorded - dropped_operations;

    say_untimed(unrecorded - dropped_operations - unread,
                letting_go ? "CUPTI gave no record of them before it was let go"
                           : "CUPTI gave no record of them before the process ended");
    say_untimed(lost, "more operations in flight than are kept for CUPTI");
    say_untimed(counts.untimed,
                letting_go ? "CUPTI had no times for them when it was let go: they were still running"
                           : "CUPTI had no times for them: still running at the end, or no room on the device");
    say_untimed(unread, "there was no memory for their records");
    say_untimed(dropped_operations, "CUPTI had no buffer for their records and dropped them");
    if (dropped > dropped_operations) {
        snprintf(detail, sizeof(detail), "CUPTI had no buffer for %llu records of graph nodes and dropped them",
                 (unsigned long long)(dropped - dropped_operations));
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
    say_untimed(__atomic_load_n(&missed, __ATOMIC_RELAXED), "they were enqueued while CUPTI was let go");
    // Those of calls whose entry gave way are told above.
    if (counts.first > 0 && counts.foreign > lost) {
        snprintf(detail, sizeof(detail),
                 "%llu operations are left out: the calls they came of were not seen (launched by the device itself, "
                 "or by a library on a road of its own)",
                 (unsigned long long)(counts.foreign - lost));
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
    if (counts.skipped) {
        snprintf(detail, sizeof(detail), "%llu records were of kinds that were not asked for (the first of kind %u)",
                 (unsigned long long)counts.skipped, counts.skipped_kind);
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
    if (counts.broken) {
        snprintf(detail, sizeof(detail), "%llu buffers ended in a record that was not complete",
                 (unsigned long long)counts.broken);
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
    if (letting_go && out) {
        snprintf(detail, sizeof(detail), "CUPTI kept %u buffers of ours when it was let go", out);
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
    if (read_error != GW_CUPTI_SUCCESS) {
        cupti->cuptiGetResultString(read_error, &name);
        snprintf(detail, sizeof(detail), "%s failed while recording: %s (%d); times may be missing", read_error_of,
                 name ? name : "unknown", read_error);
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
}

// What no test here can promise of every CUPTI and driver there is: that its records lead to the calls. Returns why
// not.
static const char *useless(void)
{
    static uint64_t entered_since_ns;
    uint64_t now_ns = gw_now_ns();

    if (counts.first > 0)
        return NULL;
    if (counts.foreign >= FOREIGN_MAX && __atomic_load_n(&entered, __ATOMIC_RELAXED) >= FOREIGN_CALLS)
        return "its records do not tell which calls they are of";
    // Many calls may be in flight when this is asked for the first time.
    if (entered_since_ns == 0 || __atomic_load_n(&entered, __ATOMIC_RELAXED) < SILENT_CALLS)
        entered_since_ns = now_ns;
    return now_ns - entered_since_ns > SILENT_NS ? "it gives no records" : NULL;
}

static void *work(void *unused)
{
    bool came = false, given_up = false;

    (void)unused;
    gw_worker_enter();
    gw_worker_keep_out_of_captures(); // for what CUPTI may call; if that fails, it is CUPTI's
    pthread_mutex_lock(&worker.lock);
    while (!stopping) {
        uint64_t change_ns = UINT64_MAX;

        if (gw_window_is_set()) {
            pthread_mutex_unlock(&worker.lock);
            change_ns = keep_to_window();
            pthread_mutex_lock(&worker.lock);
        }
        // More may follow what came (the nodes of a graph); else there is nothing to do until a call is entered.
        if (!asked && !stopping && all_seen() && !came) {
            __atomic_store_n(&worker.sleeping, true, __ATOMIC_SEQ_CST);
            if (all_seen())
                gw_worker_wait(&worker, &worker.wake, change_ns);
            __atomic_store_n(&worker.sleeping, false, __ATOMIC_SEQ_CST);
            if (all_seen() && !asked)
                continue;
        }
        if (!asked && !stopping)
            gw_worker_wait(&worker, &worker.wake, change_ns < FLUSH_NS ? change_ns : FLUSH_NS);
        asked = false;
        if (stopping)
            break;
        pthread_mutex_unlock(&worker.lock);
        came = drain(0);
        const char *why = useless();
        given_up = why && gw_cupti_give_up(why);
        pthread_mutex_lock(&worker.lock);
        if (given_up)
            letting_go = stopping = true;
    }
    pthread_mutex_unlock(&worker.lock);
    drain_last();
    if (given_up) {
        say_what_is_missing();
        gw_cupti_given_up();
    }
    pthread_mutex_lock(&worker.lock);
    ended = true;
    pthread_cond_broadcast(&worker.passed);
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

bool gw_cupti_drain_start(const struct gw_cupti *claimed)
{
    cupti = claimed;
    return gw_worker_start(&worker, work);
}

bool gw_cupti_drain_end(bool let_go)
{
    uint64_t deadline_ns = gw_now_ns() + 2 * END_MAX_NS;

    pthread_mutex_lock(&worker.lock);
    letting_go = let_go;
    stopping = true;
    pthread_cond_signal(&worker.wake);
    while (!ended && gw_now_ns() < deadline_ns)
        gw_worker_wait(&worker, &worker.passed, FLUSH_NS);
    bool finished = ended;
    pthread_mutex_unlock(&worker.lock);
    if (finished)
        say_what_is_missing();
    return finished;
}
