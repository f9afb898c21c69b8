#include "tests/simgpu/engine/engine.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/config.h"
#include "tests/simgpu/engine/external.h"
#include "tests/simgpu/engine/internal.h"
#include "tests/simgpu/engine/thread.h"
#include "tests/simgpu/engine/truth.h"

// How long after its end an operation still counts for the engines' use: a successor of a host function may be placed
// that much in the past.
#define PAST_NS 100000000u

struct op_link {
    struct op *op;
    enum op_cause cause;
    struct op_link *next;
};

struct device sim_devices[SIMGPU_MAX_DEVICES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t resolved = PTHREAD_COND_INITIALIZER;
static unsigned resolve_waiters;
static struct op *free_ops; // linked through `successors`' place: see op_create
static struct op_link *free_links;
static void (*op_observer)(const struct op *);

void engine_lock(void)
{
    pthread_mutex_lock(&lock);
}

void engine_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void engine_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&resolved, NULL);
    resolve_waiters = 0;
}

void engine_devices_init(void)
{
    for (unsigned i = 0; i < (unsigned)CONFIG(devices); i++) {
        struct device *device = &sim_devices[i];
        device->index = i;
        device->slowdown = config_get()->slowdown[i];
        device->memory_bytes = (uint64_t)CONFIG(memory);
        for (int e = 0; e < ENGINE_COUNT; e++)
            device->engines[e] = (struct timeline){.units = 1, .intervals_at_once = 1};
        device->engines[ENGINE_COMPUTE].units = (unsigned)CONFIG(sms);
        device->engines[ENGINE_COMPUTE].intervals_at_once = (unsigned)CONFIG(max_concurrent_kernels);
    }
}

struct op *op_create(enum op_kind kind, struct device *device, unsigned stream)
{
    struct op *op = free_ops;
    if (op)
        free_ops = op->on_ready_argument;
    else if (!(op = malloc(sizeof *op)))
        abort();
    *op = (struct op){.kind = kind,
                      .engine = ENGINE_NONE,
                      .device = device,
                      .stream = stream,
                      .home = device->index,
                      .name = "",
                      .correlation = sim_thread.correlation,
                      .submit_ns = clock_now_ns(),
                      .latency_ns = (uint64_t)CONFIG(launch_latency_ns),
                      .refs = 1,
                      .unresolved = 1};
    return op;
}

struct op *op_ref(struct op *op)
{
    op->refs++;
    return op;
}

void op_unref(struct op *op)
{
    if (!op || --op->refs)
        return;
    op->on_ready_argument = free_ops;
    free_ops = op;
}

static void take_end(struct op *op, const struct op *before, enum op_cause cause)
{
    if (before->effect_seq > op->effect_seq)
        op->effect_seq = before->effect_seq;
    if (before->end_ns <= op->ready_ns)
        return;
    op->ready_ns = before->end_ns;
    // A join hands on what determined it: an event or the legacy stream, not the stream the join was put in.
    const bool is_join = before->kind == OP_MARKER && !before->latency_ns &&
                         (before->cause == CAUSE_EVENT || before->cause == CAUSE_LEGACY);
    op->cause = before->kind == OP_HOST ? CAUSE_HOST : is_join ? before->cause : cause;
}

void op_after(struct op *op, struct op *before, enum op_cause cause)
{
    if (!before)
        return;
    if (before->resolved) {
        take_end(op, before, cause);
        return;
    }
    struct op_link *link = free_links;
    if (link)
        free_links = link->next;
    else if (!(link = malloc(sizeof *link)))
        abort();
    *link = (struct op_link){.op = op_ref(op), .cause = cause, .next = before->successors};
    before->successors = link;
    op->unresolved++;
}

static void log_op(const struct op *op)
{
    static const char *const kinds[] = {"marker", "kernel", "memset", "h2d", "d2h", "d2d", "p2p", "host"};
    static const char *const causes[] = {"submit", "stream", "event", "legacy", "graph", "engine", "host"};
    if (op_observer)
        op_observer(op);
    if (op->kind == OP_MARKER || !truth_enabled())
        return;
    const struct truth_op row = {.device = op->home,
                                 .stream = op->stream,
                                 .kind = kinds[op->kind],
                                 .name = op->name,
                                 .cause = causes[op->cause],
                                 .bytes = op->bytes,
                                 .submit_ns = op->submit_ns,
                                 .start_ns = op->start_ns,
                                 .end_ns = op->end_ns,
                                 .graph_node = op->graph_node};
    truth_write_op(&row);
}

// The times of `op` are known: publishes them and hands its successors, whose turn may have come, to `ready`.
static void resolve(struct op *op, struct op_link **ready)
{
    op->resolved = true;
    if (op->effect.type != EFFECT_NONE)
        op->effect_seq = effect_start(&op->effect);
    log_op(op);
    // The list is last in, first out; successors were submitted the other way round.
    struct op_link *link = op->successors, *in_order = NULL;
    op->successors = NULL;
    while (link) {
        struct op_link *next = link->next;
        link->next = in_order;
        in_order = link;
        link = next;
    }
    for (; *ready; ready = &(*ready)->next) {
    }
    for (link = in_order; link; link = link->next)
        take_end(link->op, op, link->cause);
    *ready = in_order;
}

uint64_t engine_past_ns(void)
{
    const uint64_t now_ns = clock_now_ns();
    return now_ns > PAST_NS ? now_ns - PAST_NS : 0;
}

// The engine it needs from its earliest start on, which becomes its start.
static void take_engine(struct op *op)
{
    const uint64_t start_ns = op->start_ns;
    if (op->engine != ENGINE_NONE) {
        if (op->engine == ENGINE_COMPUTE)
            external_share(op, start_ns);
        op->start_ns =
            timeline_reserve(&op->device->engines[op->engine], start_ns, op->duration_ns, op->units, engine_past_ns());
        if (op->start_ns > start_ns)
            op->cause = CAUSE_ENGINE;
    }
    op->end_ns = op->start_ns + op->duration_ns;
}

// Computes start and end of an operation whose predecessors are all resolved. False when on_ready has taken it over.
static bool place(struct op *op)
{
    uint64_t start_ns = op->submit_ns + op->latency_ns;
    if (op->ready_ns > start_ns)
        start_ns = op->ready_ns;
    else if (op->kind != OP_MARKER || op->latency_ns)
        op->cause = CAUSE_SUBMIT;
    op->start_ns = start_ns;
    if (op->on_ready) {
        op_ref(op);
        op->on_ready(op);
        return false;
    }
    take_engine(op);
    return true;
}

static void resolve_all(struct op *op)
{
    struct op_link *ready = NULL;
    resolve(op, &ready);
    while (ready) {
        struct op_link *link = ready;
        ready = link->next;
        struct op *next = link->op;
        link->next = free_links;
        free_links = link;
        if (--next->unresolved == 0 && place(next))
            resolve(next, &ready);
        op_unref(next);
    }
    if (resolve_waiters)
        pthread_cond_broadcast(&resolved);
}

void op_commit(struct op *op)
{
    if (--op->unresolved == 0 && place(op))
        resolve_all(op);
}

void engine_finish(struct op *op, uint64_t start_ns, uint64_t end_ns)
{
    op->start_ns = start_ns;
    op->end_ns = end_ns;
    resolve_all(op);
    op_unref(op);
}

bool op_complete(const struct op *op)
{
    return !op || (op->resolved && op->end_ns <= clock_now_ns() && effect_done(op->effect_seq));
}

void op_wait(struct op *op)
{
    if (!op)
        return;
    op_ref(op);
    resolve_waiters++;
    while (!op->resolved)
        pthread_cond_wait(&resolved, &lock);
    resolve_waiters--;
    const uint64_t until_ns = op->end_ns, seq = op->effect_seq;
    op_unref(op);
    if (until_ns <= clock_now_ns() && effect_done(seq))
        return;
    engine_unlock();
    effect_wait(seq);
    clock_wait_until(until_ns);
    engine_lock();
}

static void begin_staging(struct op *op)
{
    take_engine(op);
    op->effect_seq = effect_start(&op->effect);
    op->effect.type = EFFECT_NONE;
    op->is_staging = true;
    if (resolve_waiters)
        pthread_cond_broadcast(&resolved);
}

void op_commit_staged(struct op *op, uint64_t last_ns)
{
    op->on_ready = begin_staging;
    op_commit(op);
    resolve_waiters++;
    while (!op->is_staging)
        pthread_cond_wait(&resolved, &lock);
    resolve_waiters--;
    struct interval planned = {op->start_ns, op->end_ns, op->units};
    engine_unlock();
    effect_wait(op->effect_seq);
    clock_wait_until(planned.end_ns - last_ns);
    const uint64_t late_end_ns = clock_now_ns() + last_ns;
    engine_lock();
    if (late_end_ns > planned.end_ns)
        timeline_extend(&op->device->engines[op->engine], &planned, late_end_ns);
    engine_finish(op, planned.start_ns, planned.end_ns);
}

void engine_observe(void (*observer)(const struct op *op))
{
    op_observer = observer;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *intern(const char *text)
{
    static void *texts;
    char *const *found = tfind(text, &texts, compare_text);
    if (found)
        return *found;
    char *copy = strdup(text);
    if (!copy || !(found = tsearch(copy, &texts, compare_text)))
        abort();
    return *found;
}
