// Records wait here until they are complete; a worker thread then puts them into the client's buffers, the latest
// first, and hands these over: full ones as they fill, others when a flush asks for them.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cupti/profiler.h"
#include "tests/simgpu/engine/clock.h"

#define PASS_NS 2000000

struct waiting {
    struct waiting *next;
    uint64_t end_ns;
    unsigned flushes_left; // until it may go
    union record record;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake, passed;
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static struct waiting *waiting; // the latest first
static bool has_worker;
static unsigned flushes_asked, flushes_done;
static bool is_forced;
static uint32_t period_ms;
static size_t dropped;

// The worker's own.
static struct {
    uint8_t *bytes;
    size_t size, used, records, records_max;
} buffer;

static void hand_over(void)
{
    if (buffer.bytes)
        complete_buffer(NULL, 0, buffer.bytes, buffer.size, buffer.used);
    buffer.bytes = NULL;
}

static void put(union record *record, bool is_complete)
{
    const size_t size = record_size(record->kind);
    if (buffer.bytes &&
        (buffer.size - buffer.used < size || (buffer.records_max && buffer.records == buffer.records_max)))
        hand_over();
    if (!buffer.bytes) {
        buffer.size = buffer.used = buffer.records = buffer.records_max = 0;
        // `fail cuptiBufferRequest NTH 1`: the tool has none to give.
        if (!profiler_fault("cuptiBufferRequest"))
            request_buffer(&buffer.bytes, &buffer.size, &buffer.records_max);
        if (buffer.bytes && buffer.size < size)
            hand_over();
    }
    if (!buffer.bytes) {
        __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    record_convert(record, is_complete);
    memcpy(buffer.bytes + buffer.used, record, size);
    buffer.used += size;
    buffer.records++;
}

// Takes what is complete at that time, or all when forced. Called with the lock held.
static struct waiting *take(uint64_t now_ns, bool is_flush, bool forced)
{
    struct waiting *taken = NULL, **end = &taken, **at = &waiting;
    while (*at) {
        struct waiting *one = *at;
        if (forced || (one->end_ns <= now_ns && one->flushes_left == 0)) {
            *at = one->next;
            one->next = NULL;
            *end = one;
            end = &one->next;
        } else {
            if (is_flush && one->end_ns <= now_ns)
                one->flushes_left--;
            at = &one->next;
        }
    }
    return taken;
}

static void sleep_a_pass(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + (period_ms ? period_ms * 1000000u : PASS_NS);
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_cond_timedwait(&wake, &lock, &until);
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        const unsigned asked = flushes_asked;
        const bool is_flush = asked != flushes_done;
        const uint64_t now_ns = clock_now_ns();
        struct waiting *taken = take(now_ns, is_flush, is_forced);
        pthread_mutex_unlock(&lock);
        while (taken) {
            struct waiting *next = taken->next;
            put(&taken->record, taken->end_ns <= now_ns);
            free(taken);
            taken = next;
        }
        if (is_flush)
            hand_over();
        pthread_mutex_lock(&lock);
        if (is_flush) {
            flushes_done = asked;
            is_forced = false;
            pthread_cond_broadcast(&passed);
        }
        while (flushes_asked == flushes_done && !waiting)
            pthread_cond_wait(&wake, &lock);
        if (flushes_asked == flushes_done)
            sleep_a_pass();
    }
    return NULL;
}

// Called with the lock held.
static bool start_worker(void)
{
    pthread_condattr_t monotonic;
    pthread_t thread;
    sigset_t all, before;
    if (has_worker)
        return true;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &monotonic);
    pthread_cond_init(&passed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_worker = pthread_create(&thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_worker)
        pthread_detach(thread);
    return has_worker;
}

void delivery_queue(const union record *records, unsigned count, uint64_t end_ns, bool is_late)
{
    pthread_mutex_lock(&lock);
    const bool was_empty = !waiting;
    for (unsigned i = request_buffer ? count : 0; i-- > 0;) {
        struct waiting *one = malloc(sizeof *one);
        if (!one)
            abort();
        *one =
            (struct waiting){.next = waiting, .end_ns = end_ns, .flushes_left = is_late ? 1 : 0, .record = records[i]};
        waiting = one;
    }
    if (was_empty && waiting)
        pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}

void delivery_prompt(void)
{
    pthread_mutex_lock(&lock);
    if (has_worker) {
        flushes_asked++;
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
}

void delivery_stop(void)
{
    pthread_mutex_lock(&lock);
    while (waiting) {
        struct waiting *next = waiting->next;
        free(waiting);
        waiting = next;
    }
    pthread_mutex_unlock(&lock);
}

static CUptiResult flush_all(uint32_t flag)
{
    CUptiResult result = CUPTI_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!request_buffer) {
        result = CUPTI_ERROR_INVALID_OPERATION;
    } else {
        const unsigned mine = ++flushes_asked;
        is_forced |= (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
        pthread_cond_signal(&wake);
        while ((int)(flushes_done - mine) < 0)
            pthread_cond_wait(&passed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete)
{
    CUptiResult result = CUPTI_ERROR_OUT_OF_MEMORY;
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    if (start_worker()) {
        complete_buffer = complete;
        request_buffer = request;
        result = CUPTI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static CUptiResult get_dropped(size_t *ret_dropped)
{
    if (!ret_dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *ret_dropped = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

static CUptiResult next_record(const uint8_t *bytes, size_t size, CUpti_Activity **record)
{
    if (!bytes || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t at = 0;
    if (*record)
        at = (size_t)((const uint8_t *)*record - bytes) + record_size((*record)->kind);
    if (at >= size)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    CUpti_Activity *next = (CUpti_Activity *)(bytes + at);
    if (!record_size(next->kind))
        return CUPTI_ERROR_INVALID_KIND;
    *record = next;
    return CUPTI_SUCCESS;
}

static CUptiResult set_period(uint32_t milliseconds)
{
    pthread_mutex_lock(&lock);
    period_ms = milliseconds;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

ENTRY(cuptiActivityRegisterCallbacks,
      (CUpti_BuffersCallbackRequestFunc funcBufferRequested, CUpti_BuffersCallbackCompleteFunc funcBufferCompleted),
      register_callbacks(funcBufferRequested, funcBufferCompleted))
ENTRY(cuptiActivityFlushAll, (uint32_t flag), flush_all(flag))
ENTRY(cuptiActivityFlushPeriod, (uint32_t time), set_period(time))
ENTRY(cuptiActivityGetNextRecord, (uint8_t * buffer_, size_t validBufferSizeBytes, CUpti_Activity **record),
      next_record(buffer_, validBufferSizeBytes, record))
ENTRY(cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t streamId, size_t *dropped_),
      ((void)context, (void)streamId, get_dropped(dropped_)))
