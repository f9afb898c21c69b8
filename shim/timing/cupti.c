// The `cupti` backend: claims CUPTI before the first context, hands call ids to its records, and drains it.
#include "shim/timing/cupti.h"

#include <lttng/ust-thread.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/timing/cupti_buffers.h"
#include "shim/timing/timing.h"
#include "shim/tracer/driver.h"
#include "shim/tracer/events.h"

#define FLUSH_NS 20000000u
#define CLOCK_EVENT_NS 500000000u
#define LAST_FLUSH_NS 1000000u
#define QUIET_NS 20000000u // at exit: how long nothing must come until what is left is taken to be running
#define EXIT_MAX_NS 500000000u
#define CALLBACK_IDS_MAX 4096u
#define DEVICES_MAX 64u

static const int kinds[] = {GW_CUPTI_CONCURRENT_KERNEL, GW_CUPTI_MEMCPY, GW_CUPTI_MEMCPY_PEER, GW_CUPTI_MEMSET};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

enum { UNTRIED, OPENING, OPEN, CLOSED };

static struct gw_cupti cupti;
static int state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of what follows up to the thread
static pthread_cond_t wake, passed;
static bool stopping, asked, sleeping;
static uint64_t passes;
static pthread_t thread;

static uint64_t entered, lost, failed; // calls; those whose entry gave way unseen; those that put nothing on a stream
static uint64_t devices;               // bit a device seen

// The poller's own.
static struct gw_cupti_counts counts;
static uint64_t clock_told_ns, dropped;
static int read_error;
static const char *read_error_of;

static void on_call(void *argument, int domain, uint32_t id, const struct gw_cupti_call *seen)
{
    struct gw_thread *self = gw_tracer.host->thread();
    struct gw_call *call = self->timed;

    (void)argument, (void)domain, (void)id;
    if (seen->site != GW_CUPTI_ENTER || !call || !call->stream || __atomic_load_n(&state, __ATOMIC_RELAXED) != OPEN)
        return;
    const struct gw_info *info = &gw_tracer.info[call->function];
    const struct gw_cupti_entry entry = {
        .call = self->call,
        .where = GW_WHERE(gw_tracer.pid, call->stream->device, info->driver_op - 1, call->flags & GW_SITE_OP_INDEX, 0),
        .stream = call->stream->handle,
        .correlation = seen->correlation};

    self->timed = NULL; // one entry a call
    call->op = (void *)(uintptr_t)seen->correlation;
    if (call->stream->device < DEVICES_MAX)
        __atomic_fetch_or(&devices, (uint64_t)1 << call->stream->device, __ATOMIC_RELAXED);
    if (!gw_cupti_enter(&entry))
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&entered, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleeping, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&lock);
    }
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

    note_error(cupti.cuptiActivityFlushAll(flags), "cuptiActivityFlushAll");
    // After the flush, so that every record lies between two readings.
    note_error(gw_cupti_clock_read(&cupti), "cuptiGetTimestamp");
    for (struct gw_cupti_buffer *buffer = gw_cupti_buffers_take(), *next; buffer; buffer = next) {
        next = buffer->next;
        bytes += buffer->valid;
        note_error(gw_cupti_read_buffer(&cupti, buffer->bytes, buffer->valid), "cuptiActivityGetNextRecord");
        gw_cupti_buffer_free(buffer);
    }
    gw_cupti_emit(&counts);
    int error = cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &now_dropped);
    note_error(error, "cuptiActivityGetNumDroppedRecords");
    dropped += error == GW_CUPTI_SUCCESS ? now_dropped : 0;
    if (bytes)
        tell_clock();
    return bytes > 0;
}

static void wait_for(pthread_cond_t *condition, uint64_t ns)
{
    uint64_t until = gw_now_ns() + ns;
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};

    pthread_cond_timedwait(condition, &lock, &at);
}

// What comes at the end: until all is seen, or nothing more arrives. Forced only then, because a forced flush hands
// over records whose operations are not complete, and nothing comes of these later.
static void drain_last(void)
{
    uint64_t began_ns = gw_now_ns(), last_ns = began_ns, now_ns = began_ns;
    bool came;

    do {
        came = drain(0);
        now_ns = gw_now_ns();
        last_ns = came ? now_ns : last_ns;
        if (all_seen() && !came)
            break;
        pthread_mutex_lock(&lock);
        wait_for(&wake, LAST_FLUSH_NS);
        pthread_mutex_unlock(&lock);
    } while (now_ns - last_ns < QUIET_NS && now_ns - began_ns < EXIT_MAX_NS);
    drain(GW_CUPTI_FLUSH_FORCED);
}

static void *poll(void *unused)
{
    const struct gw_driver *driver = gw_driver();
    int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED

    (void)unused;
    pthread_setname_np(pthread_self(), "gw-timing");
    lttng_ust_init_thread();
    gw_tracer.host->thread()->busy = 1;
    if (driver && driver->cuThreadExchangeStreamCaptureMode)
        driver->cuThreadExchangeStreamCaptureMode(&mode);
    bool came = false;

    pthread_mutex_lock(&lock);
    while (!stopping) {
        // More may follow what came (the nodes of a graph); else there is nothing to do until a call is entered.
        if (!asked && all_seen() && !came) {
            __atomic_store_n(&sleeping, true, __ATOMIC_SEQ_CST);
            if (all_seen())
                pthread_cond_wait(&wake, &lock);
            __atomic_store_n(&sleeping, false, __ATOMIC_SEQ_CST);
        }
        if (!asked && !stopping)
            wait_for(&wake, FLUSH_NS);
        asked = false;
        if (stopping)
            break;
        pthread_mutex_unlock(&lock);
        came = drain(0);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    drain_last();
    pthread_mutex_lock(&lock);
    passes++;
    pthread_cond_broadcast(&passed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static bool start_thread(void)
{
    const size_t stack_bytes = 256 * 1024;
    pthread_condattr_t monotonic;
    pthread_attr_t attributes;
    sigset_t all, before;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &monotonic);
    pthread_cond_init(&passed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&thread, &attributes, poll, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

static void say_untimed(uint64_t operations, const char *why)
{
    char number[24];

    if (!operations)
        return;
    snprintf(number, sizeof(number), "%llu", (unsigned long long)operations);
    gw_coverage(GW_COVERAGE_UNTIMED, number, why);
}

static void close_at_exit(void)
{
    uint64_t deadline_ns = gw_now_ns() + 2 * EXIT_MAX_NS;
    const char *name = NULL;
    char detail[160];

    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != OPEN)
        return;
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&wake);
    while (!passes && gw_now_ns() < deadline_ns)
        wait_for(&passed, FLUSH_NS);
    bool finished = passes > 0;
    pthread_mutex_unlock(&lock);
    __atomic_store_n(&state, CLOSED, __ATOMIC_RELAXED);
    if (!finished)
        return;
    uint64_t left = entered - lost - failed - counts.first;
    say_untimed(left, "CUPTI gave no record of them before the process ended");
    say_untimed(lost, "more operations in flight than are kept for CUPTI");
    say_untimed(counts.untimed, "CUPTI had no times for them: still running at the end, or no room on the device");
    say_untimed(counts.unread, "there was no memory for their records");
    say_untimed(dropped, "CUPTI had no buffer for their records and dropped them");
    if (read_error != GW_CUPTI_SUCCESS) {
        cupti.cuptiGetResultString(read_error, &name);
        snprintf(detail, sizeof(detail), "%s failed while recording: %s (%d); times may be missing", read_error_of,
                 name ? name : "unknown", read_error);
        gw_coverage(GW_COVERAGE_DISABLED, "part of cupti", detail);
    }
}

// Asks for callbacks of the driver's functions that put operations on streams. Returns 0 or CUPTI's error.
static int enable_callbacks(void)
{
    unsigned found = 0;

    for (uint32_t id = 1; id < CALLBACK_IDS_MAX; id++) {
        const char *name = NULL;
        int error = cupti.cuptiGetCallbackName(GW_CUPTI_DRIVER_API, id, &name);

        if (error == GW_CUPTI_INVALID_PARAMETER)
            continue; // numbers are not given out without gaps
        if (error != GW_CUPTI_SUCCESS)
            return error;
        unsigned function = name ? gw_function_find(name) : GW_FUNCTION_NONE;
        if (function == GW_FUNCTION_NONE || !gw_tracer.info[function].driver_op)
            continue;
        error = cupti.cuptiEnableCallback(1, cupti.subscriber, GW_CUPTI_DRIVER_API, id);
        if (error != GW_CUPTI_SUCCESS)
            return error;
        found++;
    }
    return found ? GW_CUPTI_SUCCESS : GW_CUPTI_INVALID_PARAMETER;
}

static void release(void)
{
    for (size_t i = 0; i < KINDS; i++)
        cupti.cuptiActivityDisable(kinds[i]);
    cupti.cuptiUnsubscribe(cupti.subscriber);
}

// Claims CUPTI. Returns 0, or CUPTI's error with the function that gave it.
static int claim(const char **ret_function)
{
    int error = cupti.cuptiSubscribe(&cupti.subscriber, on_call, NULL);

    *ret_function = "cuptiSubscribe";
    if (error != GW_CUPTI_SUCCESS)
        return error;
    *ret_function = "cuptiGetTimestamp";
    error = gw_cupti_clock_read(&cupti);
    if (error == GW_CUPTI_SUCCESS) {
        *ret_function = "cuptiActivityRegisterCallbacks";
        error = cupti.cuptiActivityRegisterCallbacks(gw_cupti_buffer_request, gw_cupti_buffer_complete);
    }
    if (error == GW_CUPTI_SUCCESS) {
        *ret_function = "cuptiEnableCallback";
        error = enable_callbacks();
    }
    for (size_t i = 0; i < KINDS && error == GW_CUPTI_SUCCESS; i++) {
        *ret_function = "cuptiActivityEnable";
        error = cupti.cuptiActivityEnable(kinds[i]);
    }
    if (error != GW_CUPTI_SUCCESS)
        release();
    return error;
}

static void give_way(const char *why)
{
    char detail[256];

    snprintf(detail, sizeof(detail), "%s; timed with events instead", why);
    gw_coverage(GW_COVERAGE_DISABLED, "cupti", detail);
    __atomic_store_n(&gw_tracer.timing, gw_timing_events_start(), __ATOMIC_RELEASE);
}

static void open_cupti(void)
{
    enum { ANOTHER_SUBSCRIBER = 39, NO_PRIVILEGES = 35 };
    const char *why = gw_cupti_load(&cupti), *function = NULL, *name = NULL;
    char detail[160];

    if (!why) {
        int error = claim(&function);

        if (error != GW_CUPTI_SUCCESS) {
            cupti.cuptiGetResultString(error, &name);
            snprintf(detail, sizeof(detail), "%s%s: %s (%d)",
                     error == ANOTHER_SUBSCRIBER ? "another tool uses it, "
                     : error == NO_PRIVILEGES    ? "the user may not use it, "
                                                 : "",
                     function, name ? name : "unknown", error);
            why = detail;
        }
    }
    if (!why && !start_thread()) {
        release();
        why = "no thread could be made for it";
    }
    if (why) {
        __atomic_store_n(&state, CLOSED, __ATOMIC_RELEASE);
        give_way(why);
        return;
    }
    // Handlers run last registered first: this one before the driver's and CUPTI's own.
    atexit(close_at_exit);
    __atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
}

// A thread that comes while another one opens CUPTI goes on: it may hold what the opening needs.
static void prepare(void)
{
    int untried = UNTRIED;

    if (__atomic_compare_exchange_n(&state, &untried, OPENING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        open_cupti();
}

static void *before(const struct gw_stream *stream)
{
    (void)stream;
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) == UNTRIED)
        prepare();
    return NULL; // CUPTI's callback makes the operation: its correlation id
}

static void after(void *operation, const struct gw_thread *self, const struct gw_call *call, int32_t result)
{
    (void)self, (void)call;
    // Nothing comes of a call that failed.
    if (result != 0 && gw_cupti_forget((uint32_t)(uintptr_t)operation))
        __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
}

static void nothing(void)
{
}

// Contexts may have ended: CUPTI is asked for what it still holds of them.
static void resume(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != OPEN)
        return;
    pthread_mutex_lock(&lock);
    asked = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}

static void drop(struct gw_context *context)
{
    (void)context; // records hold no handle of it
}

static void forked(void)
{
    __atomic_store_n(&state, CLOSED, __ATOMIC_RELAXED);
}

const struct gw_timing_ops *gw_timing_cupti_start(void)
{
    static const struct gw_timing_ops ops = {.prepare = prepare,
                                             .before = before,
                                             .after = after,
                                             .pause = nothing,
                                             .resume = resume,
                                             .drop = drop,
                                             .forked = forked};

    return &ops;
}
