/*
 * With `record --queries=count`: calls that only ask for what is known at once (GW_WAIT_ASKS), of which frameworks make
 * thousands a step. A thread counts those that took no time, succeeded and led to no event, and writes the counts as events `counted`, at least
 * every TALLY_NS while it makes calls, and when it or the process ends. Each thread has a page of its own for that,
 * which goes to another when it ends.
 */
#include "shim/tracer/tally.h"

#include <stddef.h>
#include <sys/mman.h>

#include "shim/api/codes.h"
#include "shim/tracer/events.h"

#define SLOTS 128u // functions; those beyond are recorded
#define TALLY_NS 1000000u

struct gw_tally {
    struct gw_tally *next;
    uint64_t where; // GW_CALLER of its thread
    uint64_t begin_ns;
    uint32_t generation; // of the process
    uint32_t taken;
    uint64_t used[SLOTS / 64]; // bit a slot
    struct {
        uint32_t count, total_ns;
    } slots[SLOTS];
};

static struct gw_tally *tallies;
static uint16_t functions[SLOTS];
static pthread_key_t key;
static bool ready;
static int closed; // the process ends: no more is counted

static bool is_own(const struct gw_tally *tally)
{
    return tally->generation == gw_tracer.generation;
}

static void write_counts(struct gw_tally *tally)
{
    for (unsigned i = 0; i < SLOTS / 64; i++)
        for (uint64_t used = __atomic_exchange_n(&tally->used[i], 0, __ATOMIC_RELAXED); used; used &= used - 1) {
            unsigned slot = i * 64 + (unsigned)__builtin_ctzll(used);
            const uint64_t words[] = {
                tally->begin_ns, tally->where,
                GW_COUNTED_WHAT(functions[slot], __atomic_exchange_n(&tally->slots[slot].count, 0, __ATOMIC_RELAXED)),
                __atomic_exchange_n(&tally->slots[slot].total_ns, 0, __ATOMIC_RELAXED)};

            lttng_ust_tracepoint(gpuwitness, counted, words);
        }
}

static void give_back(void *of_thread)
{
    struct gw_tally *tally = of_thread;
    struct gw_section section;

    if (!is_own(tally))
        return;
    gw_section_begin(&section);
    write_counts(tally);
    gw_section_end(&section);
    // A destructor of the program's that comes later may still call CUDA.
    gw_tracer.host->thread()->tally = NULL;
    __atomic_store_n(&tally->taken, 0, __ATOMIC_RELEASE);
}

void gw_tally_init(void)
{
    unsigned slots = 0;

    ready = pthread_key_create(&key, give_back) == 0;
    for (unsigned id = 0; ready && id < GW_FUNCTION_COUNT && slots < SLOTS; id++)
        if (gw_function_row(id)->wait == GW_WAIT_ASKS) {
            functions[slots] = (uint16_t)id;
            gw_tracer.info[id].asks = (uint8_t)++slots;
        }
}

static struct gw_tally *take_unused(void)
{
    for (struct gw_tally *tally = __atomic_load_n(&tallies, __ATOMIC_ACQUIRE); tally; tally = tally->next) {
        uint32_t taken = 0;

        if (is_own(tally) &&
            __atomic_compare_exchange_n(&tally->taken, &taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return tally;
    }
    return NULL;
}

// Not from the program's allocator.
static struct gw_tally *make(void)
{
    struct gw_tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (tally == MAP_FAILED)
        return NULL;
    tally->generation = gw_tracer.generation;
    tally->taken = 1;
    tally->next = __atomic_load_n(&tallies, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&tallies, &tally->next, tally, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return tally;
}

static struct gw_tally *tally_of(struct gw_thread *thread)
{
    if (thread->tally && is_own(thread->tally))
        return thread->tally;

    struct gw_section section;

    gw_section_begin(&section);
    struct gw_tally *tally = take_unused();
    if (!tally)
        tally = make();
    // Without its destructor, counts would be lost at the thread's end.
    if (tally && pthread_setspecific(key, tally) != 0) {
        __atomic_store_n(&tally->taken, 0, __ATOMIC_RELEASE);
        tally = NULL;
    }
    if (tally)
        tally->where = GW_CALLER(gw_tracer.pid, thread->tid);
    thread->tally = tally;
    gw_section_end(&section);
    return tally;
}

bool gw_tally_add(struct gw_thread *thread, const struct gw_call *call, unsigned asks, uint64_t end_ns)
{
    struct gw_tally *tally = __atomic_load_n(&closed, __ATOMIC_RELAXED) ? NULL : tally_of(thread);
    unsigned slot = asks - 1;

    if (!tally)
        return false;
    if (!(tally->used[0] | tally->used[1]))
        tally->begin_ns = call->begin_ns;
    __atomic_store_n(&tally->used[slot / 64], tally->used[slot / 64] | (uint64_t)1 << slot % 64, __ATOMIC_RELAXED);
    __atomic_store_n(&tally->slots[slot].count, tally->slots[slot].count + 1, __ATOMIC_RELAXED);
    if (call->depth == 1)
        __atomic_store_n(&tally->slots[slot].total_ns,
                         tally->slots[slot].total_ns + (uint32_t)(end_ns - call->begin_ns), __ATOMIC_RELAXED);
    return true;
}

void gw_tally_write(struct gw_thread *thread, uint64_t now_ns)
{
    struct gw_tally *tally = thread->tally;
    struct gw_section section;

    if (!tally || !is_own(tally) || !(tally->used[0] | tally->used[1]) || now_ns - tally->begin_ns < TALLY_NS)
        return;
    gw_section_begin(&section);
    write_counts(tally);
    gw_section_end(&section);
}

void gw_tally_close(void)
{
    __atomic_store_n(&closed, 1, __ATOMIC_RELAXED);
    for (struct gw_tally *tally = __atomic_load_n(&tallies, __ATOMIC_ACQUIRE); tally; tally = tally->next)
        if (is_own(tally))
            write_counts(tally);
}
