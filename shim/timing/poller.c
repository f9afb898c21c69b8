// The poller: a thread that finds completed operations and emits their times.
#include <stdio.h>
#include <string.h>

#include "shim/timing/events.h"
#include "shim/timing/worker.h"
#include "shim/tracer/events.h"

#define POLL_NS 1000000
#define FLUSH_MAX_NS 50000000u
#define EVENT_RESOLUTION_NS 500u // documented for cuEventElapsedTime
#define BLOCKED_MAX 16u
#define FAILURES_MAX 20u // passes after which a clock is given up until it can be read again

static struct gw_worker worker = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool started, stopping;
static unsigned paused;
static uint64_t passes;
static bool in_pass;
static bool is_out_of_captures; // the thread's own
static uint64_t pending;
static uint64_t untimed[GW_UNTIMED_COUNT];

static const char *const untimed_words[GW_UNTIMED_COUNT] = {
    [GW_UNTIMED_FULL] = "more operations or contexts in flight than there are events for",
    [GW_UNTIMED_NO_EVENTS] = "the driver made no events for them",
    [GW_UNTIMED_NOT_RECORDED] = "the driver did not record events for them",
    [GW_UNTIMED_NO_TIME] = "the driver gave no time for them",
    [GW_UNTIMED_NO_CLOCK] = "the device's clock could not be read beside the host's",
    [GW_UNTIMED_CAPTURES] = "the tool's thread could not keep out of the program's captures",
    [GW_UNTIMED_FAILED] = "the driver failed before they were read",
    [GW_UNTIMED_CONTEXT] = "their context ended before they were read",
    [GW_UNTIMED_RUNNING] = "still running when the process ended",
};

// Streams whose oldest pending operation is not complete: the later ones are not either.
struct blocked {
    uint64_t stream[BLOCKED_MAX];
    unsigned count;
};

static bool is_blocked(const struct blocked *blocked, uint64_t stream)
{
    for (unsigned i = 0; i < blocked->count; i++)
        if (blocked->stream[i] == stream)
            return true;
    return false;
}

/*
 * What the two events say about the operation between them. Each event is a submission of its own: on a busy stream it
 * happens where the operation begins or ends, on an idle one a constant latency after it was submitted. An event that
 * happened within a probe's round trip of its submission is taken to be of the second sort. Then
 *  - the operation began later than the start event by the distance of the two submissions. A driver rings the device's
 *    bell at the end of a launch, whatever it did before (loading the kernel's module), and at the beginning of a copy
 *    or of a launch that blocks, which may then last as long as the operation: so the distance is taken, and the length
 *    of the call is its error.
 *  - the operation ended before the end event by at most the distance of their submissions.
 */
static void emit(const struct gw_pool *pool, const struct gw_driver *driver, const struct gw_pair *pair)
{
    const struct gw_epoch *epoch = &pool->epoch;
    uint64_t start_ns, end_ns, clock_error_ns, end_clock_error_ns, start_error_ns = 0, end_error_ns = 0;

    if (gw_epoch_time(epoch, driver, pair->start, &start_ns, &clock_error_ns) != 0 ||
        gw_epoch_time(epoch, driver, pair->end, &end_ns, &end_clock_error_ns) != 0) {
        gw_poller_untimed(GW_UNTIMED_NO_TIME, 1);
        return;
    }
    clock_error_ns = clock_error_ns > end_clock_error_ns ? clock_error_ns : end_clock_error_ns;
    uint64_t latency_ns = epoch->round_trip_ns + clock_error_ns;
    uint64_t earliest_ns = start_ns < pair->begin_ns ? pair->begin_ns : start_ns;

    if (start_ns < pair->returned_ns + latency_ns) {
        bool early = pair->waits || GW_WHERE_KIND(pair->where) == GW_GPU_OP_COPY;
        uint64_t room_ns = pair->returned_ns + latency_ns - start_ns;
        uint64_t distance_ns = early ? pair->begin_ns - pair->before_ns : pair->returned_ns - pair->begin_ns;

        start_error_ns = pair->returned_ns - pair->before_ns;
        start_error_ns = start_error_ns < room_ns ? start_error_ns : room_ns;
        start_ns += distance_ns < start_error_ns ? distance_ns : start_error_ns;
    }
    start_ns = start_ns < pair->begin_ns ? pair->begin_ns : start_ns;
    end_ns = end_ns < start_ns ? start_ns : end_ns;
    if (end_ns < pair->after_ns + latency_ns) {
        // The end event waited for nothing: it tells only that the operation was over by then.
        uint64_t submissions_ns = pair->after_ns - pair->begin_ns, later_ns = 0;

        if (pair->waits && pair->returned_ns > start_ns && end_ns > pair->returned_ns) {
            // The call outlasted the start, so it was one that returns when its copy is over: to pageable memory, or a
            // blocking one. Its thread wakes about as late as a probe is seen. Or its thread lost its CPU in a call
            // that does not wait: then the operation went on, at most until the event.
            later_ns = end_ns - pair->returned_ns;
            end_ns = pair->returned_ns;
            submissions_ns = latency_ns;
        }
        end_error_ns = submissions_ns < end_ns - earliest_ns ? submissions_ns : end_ns - earliest_ns;
        end_error_ns = end_error_ns > later_ns ? end_error_ns : later_ns;
    }
    start_error_ns = start_error_ns > end_error_ns ? start_error_ns : end_error_ns;
    lttng_ust_tracepoint(gpuwitness, gpu_op, pair->call, pair->where, pair->stream, start_ns, end_ns,
                         (uint32_t)(clock_error_ns + EVENT_RESOLUTION_NS + start_error_ns));
}

// Whether the pool's events can be read now: the thread harms no capture, its context is current and the epoch known.
static bool make_ready(struct gw_pool *pool, const struct gw_driver *driver)
{
    is_out_of_captures = is_out_of_captures || gw_worker_keep_out_of_captures();
    return is_out_of_captures && driver->cuCtxSetCurrent(pool->context->handle) == 0 &&
           gw_epoch_ready(&pool->epoch, driver, pool->context->device);
}

static void take_pending(struct gw_pool *pool)
{
    struct gw_pair **at = &pool->waiting;

    while (*at)
        at = &(*at)->next;
    pthread_mutex_lock(&pool->lock);
    *at = pool->pending;
    pool->pending = NULL;
    pool->pending_tail = &pool->pending;
    pthread_mutex_unlock(&pool->lock);
}

static void recycle(struct gw_pool *pool, struct gw_pair *done, unsigned count)
{
    pthread_mutex_lock(&pool->lock);
    while (done) {
        struct gw_pair *next = done->next;

        done->next = pool->free;
        pool->free = done;
        done = next;
    }
    pthread_mutex_unlock(&pool->lock);
    __atomic_fetch_sub(&pending, count, __ATOMIC_RELAXED);
}

static void process(struct gw_pool *pool, const struct gw_driver *driver)
{
    const int not_ready = 600;
    struct blocked blocked = {.count = 0};
    struct gw_pair **at, *done = NULL;
    unsigned done_count = 0;

    take_pending(pool);
    if (!pool->waiting)
        return;
    bool ready = make_ready(pool, driver);
    pool->epoch.failures = ready ? 0 : pool->epoch.failures + 1;
    if (!ready && pool->epoch.failures < FAILURES_MAX)
        return;

    for (at = &pool->waiting; *at && !__atomic_load_n(&paused, __ATOMIC_RELAXED) && blocked.count < BLOCKED_MAX;) {
        struct gw_pair *pair = *at;
        int error = !ready ? 0 : is_blocked(&blocked, pair->stream) ? not_ready : driver->cuEventQuery(pair->end);

        if (error == not_ready) {
            if (!is_blocked(&blocked, pair->stream))
                blocked.stream[blocked.count++] = pair->stream;
            at = &pair->next;
            continue;
        }
        if (!ready)
            gw_poller_untimed(is_out_of_captures ? GW_UNTIMED_NO_CLOCK : GW_UNTIMED_CAPTURES, 1);
        else if (error == 0)
            emit(pool, driver, pair);
        else
            gw_poller_untimed(GW_UNTIMED_FAILED, 1);
        *at = pair->next;
        pair->next = done;
        done = pair;
        done_count++;
    }
    recycle(pool, done, done_count);
}

static void *poll(void *unused)
{
    const struct gw_driver *driver = gw_driver();

    (void)unused;
    gw_worker_enter();
    pthread_mutex_lock(&worker.lock);
    while (!stopping) {
        if (!driver || paused || __atomic_load_n(&pending, __ATOMIC_SEQ_CST) == 0) {
            passes++;
            pthread_cond_broadcast(&worker.passed);
            __atomic_store_n(&worker.sleeping, true, __ATOMIC_SEQ_CST);
            if (paused || __atomic_load_n(&pending, __ATOMIC_SEQ_CST) == 0)
                pthread_cond_wait(&worker.wake, &worker.lock);
            __atomic_store_n(&worker.sleeping, false, __ATOMIC_SEQ_CST);
            continue;
        }
        in_pass = true;
        pthread_mutex_unlock(&worker.lock);
        for (unsigned i = 0; i < gw_pool_count(); i++)
            if (!__atomic_load_n(&gw_pools[i].dead, __ATOMIC_ACQUIRE))
                process(&gw_pools[i], driver);
        pthread_mutex_lock(&worker.lock);
        in_pass = false;
        passes++;
        pthread_cond_broadcast(&worker.passed);
        if (!stopping && !paused && __atomic_load_n(&pending, __ATOMIC_SEQ_CST) > 0)
            gw_worker_wait(&worker, &worker.wake, POLL_NS);
    }
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

bool gw_poller_start(void)
{
    if (started)
        return true;
    started = gw_worker_start(&worker, poll);
    if (!started)
        gw_coverage(GW_COVERAGE_DISABLED, "gpu timing", "no thread could be made for it");
    return started;
}

void gw_poller_pending(void)
{
    __atomic_fetch_add(&pending, 1, __ATOMIC_SEQ_CST);
    gw_worker_wake_sleeping(&worker);
}

// Called with the lock held: lets the poller look at everything twice, so that what was complete at the call is
// emitted.
static void flush(void)
{
    uint64_t enough = passes + 2, deadline_ns = gw_now_ns() + FLUSH_MAX_NS;

    while (passes < enough && __atomic_load_n(&pending, __ATOMIC_SEQ_CST) > 0 && gw_now_ns() < deadline_ns) {
        pthread_cond_signal(&worker.wake);
        gw_worker_wait(&worker, &worker.passed, POLL_NS);
    }
}

void gw_poller_pause(void)
{
    const uint64_t pass_max_ns = 1000000000u;
    uint64_t deadline_ns = gw_now_ns() + pass_max_ns;

    if (!started)
        return;
    pthread_mutex_lock(&worker.lock);
    if (paused == 0)
        flush();
    __atomic_fetch_add(&paused, 1, __ATOMIC_RELAXED);
    while (in_pass && gw_now_ns() < deadline_ns)
        gw_worker_wait(&worker, &worker.passed, POLL_NS);
    pthread_mutex_unlock(&worker.lock);
}

void gw_poller_resume(void)
{
    if (!started)
        return;
    pthread_mutex_lock(&worker.lock);
    if (paused > 0)
        __atomic_fetch_sub(&paused, 1, __ATOMIC_RELAXED);
    pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

void gw_poller_stop(uint64_t wait_ns)
{
    uint64_t deadline_ns = gw_now_ns() + wait_ns;
    char count[24];

    pthread_mutex_lock(&worker.lock);
    while (__atomic_load_n(&pending, __ATOMIC_SEQ_CST) > 0 && gw_now_ns() < deadline_ns) {
        pthread_cond_signal(&worker.wake);
        gw_worker_wait(&worker, &worker.passed, POLL_NS);
    }
    stopping = true;
    pthread_cond_signal(&worker.wake);
    while (in_pass && gw_now_ns() < deadline_ns + wait_ns)
        gw_worker_wait(&worker, &worker.passed, POLL_NS);
    pthread_mutex_unlock(&worker.lock);

    uint64_t left = __atomic_load_n(&pending, __ATOMIC_RELAXED);
    if (left)
        gw_poller_untimed(GW_UNTIMED_RUNNING, (unsigned)left);
    for (unsigned why = 0; why < GW_UNTIMED_COUNT; why++) {
        if (!untimed[why])
            continue;
        snprintf(count, sizeof(count), "%llu", (unsigned long long)untimed[why]);
        gw_coverage(GW_COVERAGE_UNTIMED, count, untimed_words[why]);
    }
}

void gw_poller_dropped(unsigned pairs)
{
    __atomic_fetch_sub(&pending, pairs, __ATOMIC_RELAXED);
}

void gw_poller_untimed(enum gw_untimed why, unsigned operations)
{
    __atomic_fetch_add(&untimed[why], operations, __ATOMIC_RELAXED);
}
