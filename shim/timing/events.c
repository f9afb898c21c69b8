// The `events` backend where the program's threads pass: takes a pair from the pool, records it round the operation.
#include "shim/timing/events.h"

#include <stdlib.h>

#include "shim/timing/timing.h"

#define BATCH 32u

struct gw_pool gw_pools[GW_POOLS_MAX];

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned pool_count, pair_count;
static bool closed; // at exit and in a forked child
static bool launches_block;

unsigned gw_pool_count(void)
{
    return __atomic_load_n(&pool_count, __ATOMIC_ACQUIRE);
}

static void close_at_exit(void)
{
    const uint64_t wait_ns = 500000000;

    if (__atomic_exchange_n(&closed, true, __ATOMIC_RELAXED))
        return;
    gw_poller_stop(wait_ns);
}

// Called with pools_lock held. A pool never used, or one whose context is gone.
static struct gw_pool *free_pool(void)
{
    if (pool_count < GW_POOLS_MAX) {
        struct gw_pool *pool = &gw_pools[pool_count];

        // Handlers run last registered first: registered now, after the driver's start, this one runs before it ends.
        if (pool_count == 0) {
            const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");

            launches_block = blocking && blocking[0] == '1';
            atexit(close_at_exit);
        }
        pthread_mutex_init(&pool->lock, NULL);
        pool->dead = true;
        __atomic_store_n(&pool_count, pool_count + 1, __ATOMIC_RELEASE);
        return pool;
    }
    for (unsigned i = 0; i < GW_POOLS_MAX; i++)
        if (gw_pools[i].dead)
            return &gw_pools[i];
    return NULL;
}

static struct gw_pool *make_pool(struct gw_context *context)
{
    struct gw_pool *pool = NULL;

    pthread_mutex_lock(&pools_lock);
    if (context->timing) {
        pool = context->timing;
    } else if (!context->gone && gw_poller_start() && (pool = free_pool())) {
        pool->context = context;
        pool->epoch = (struct gw_epoch){.valid = false};
        pool->pending_tail = &pool->pending;
        __atomic_store_n(&pool->dead, false, __ATOMIC_RELEASE);
        __atomic_store_n(&context->timing, pool, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

static void put_free(struct gw_pool *pool, struct gw_pair *pair)
{
    pthread_mutex_lock(&pool->lock);
    pair->next = pool->free;
    pool->free = pair;
    pthread_mutex_unlock(&pool->lock);
}

static struct gw_pair *take_free(struct gw_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct gw_pair *pair = pool->free;
    if (pair)
        pool->free = pair->next;
    pthread_mutex_unlock(&pool->lock);
    return pair;
}

// Makes events for the pairs, of which the first is returned and the others are free. Returns how many it made.
static unsigned make_events(struct gw_pool *pool, const struct gw_driver *driver, struct gw_pair *pairs)
{
    unsigned made = 0;

    for (; made < BATCH; made++) {
        struct gw_pair *pair = &pairs[made];

        pair->pool = pool;
        if (driver->cuEventCreate(&pair->start, 0) != 0)
            break;
        if (driver->cuEventCreate(&pair->end, 0) != 0) {
            driver->cuEventDestroy_v2(pair->start);
            break;
        }
        if (made > 0)
            put_free(pool, pair);
    }
    return made;
}

// Makes a batch of pairs in the pool's context, which is made current for it when it is not.
static struct gw_pair *grow(struct gw_pool *pool, const struct gw_driver *driver)
{
    gw_handle current = 0, popped;
    struct gw_pair *pairs = NULL;
    unsigned made = 0;

    if (__atomic_fetch_add(&pair_count, BATCH, __ATOMIC_RELAXED) >= GW_PAIRS_MAX) {
        __atomic_fetch_sub(&pair_count, BATCH, __ATOMIC_RELAXED);
        gw_poller_untimed(GW_UNTIMED_FULL, 1);
        return NULL;
    }
    driver->cuCtxGetCurrent(&current);
    bool is_current = current == pool->context->handle;
    if (is_current || driver->cuCtxPushCurrent_v2(pool->context->handle) == 0) {
        pairs = calloc(BATCH, sizeof(*pairs));
        made = pairs ? make_events(pool, driver, pairs) : 0;
        if (!is_current)
            driver->cuCtxPopCurrent_v2(&popped);
    }
    __atomic_fetch_sub(&pair_count, BATCH - made, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->pairs, made, __ATOMIC_RELAXED);
    if (made > 0)
        return &pairs[0];
    free(pairs);
    gw_poller_untimed(GW_UNTIMED_NO_EVENTS, 1);
    return NULL;
}

static void *before(const struct gw_stream *stream)
{
    const struct gw_driver *driver = gw_driver();
    struct gw_pool *pool = __atomic_load_n(&stream->context->timing, __ATOMIC_ACQUIRE);
    struct gw_pair *pair;

    if (!driver || __atomic_load_n(&closed, __ATOMIC_RELAXED))
        return NULL;
    if (!pool)
        pool = make_pool(stream->context);
    if (!pool) {
        gw_poller_untimed(GW_UNTIMED_FULL, 1);
        return NULL;
    }
    pair = take_free(pool);
    if (!pair)
        pair = grow(pool, driver);
    if (!pair)
        return NULL;
    pair->before_ns = gw_now_ns();
    if (driver->cuEventRecord(pair->start, stream->raw) != 0) {
        gw_poller_untimed(GW_UNTIMED_NOT_RECORDED, 1);
        put_free(pool, pair);
        return NULL;
    }
    return pair;
}

// Asked when the end event is recorded: it takes time.
static bool may_wait(const struct gw_info *info, const uint64_t *words)
{
    const struct gw_form *form = info->form;

    if (info->driver_op - 1 == GW_GPU_OP_KERNEL)
        return launches_block;
    return form->style == GW_STYLE_PLAIN && form->code == GW_COPY_D2H &&
           (form->blocking || gw_host_kind_of(words[form->a]) != GW_HOST_PINNED);
}

static void after(void *operation, const struct gw_thread *thread, const struct gw_call *call, const uint64_t *words,
                  int32_t result)
{
    const struct gw_info *info = &gw_tracer.info[call->function];
    struct gw_pair *pair = operation;
    struct gw_pool *pool = pair->pool;
    const struct gw_driver *driver = gw_driver();

    pair->returned_ns = gw_now_ns();
    if (result != 0 || !driver || driver->cuEventRecord(pair->end, call->stream->raw) != 0) {
        if (result == 0)
            gw_poller_untimed(GW_UNTIMED_NOT_RECORDED, 1);
        put_free(pool, pair);
        return;
    }
    pair->after_ns = gw_now_ns();
    pair->waits = may_wait(info, words);
    pair->call = thread->call;
    pair->where = GW_WHERE(gw_tracer.pid, call->stream->device, info->driver_op - 1, call->flags & GW_SITE_OP_INDEX, 0);
    pair->stream = call->stream->handle;
    pair->begin_ns = call->begin_ns;
    pair->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool dead = pool->dead;
    if (!dead) {
        *pool->pending_tail = pair;
        pool->pending_tail = &pair->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!dead)
        gw_poller_pending();
}

// The poller is paused: its list may be looked at. The driver ended the events with their context.
static void drop(struct gw_context *context)
{
    struct gw_pool *pool = context->timing;
    unsigned lost = 0;

    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->dead = true;
    for (struct gw_pair *pair = pool->pending; pair; pair = pair->next)
        lost++;
    for (struct gw_pair *pair = pool->waiting; pair; pair = pair->next)
        lost++;
    pool->pending = pool->waiting = pool->free = NULL;
    pool->pending_tail = &pool->pending;
    __atomic_fetch_sub(&pair_count, pool->pairs, __ATOMIC_RELAXED);
    pool->pairs = 0;
    pthread_mutex_unlock(&pool->lock);
    gw_poller_dropped(lost);
    if (lost)
        gw_poller_untimed(GW_UNTIMED_CONTEXT, lost);
}

static void forked(void)
{
    __atomic_store_n(&closed, true, __ATOMIC_RELAXED);
}

const struct gw_timing_ops *gw_timing_events_start(void)
{
    static const struct gw_timing_ops ops = {.before = before,
                                             .after = after,
                                             .pause = gw_poller_pause,
                                             .resume = gw_poller_resume,
                                             .drop = drop,
                                             .forked = forked};

    return &ops;
}
