// API calls: depth, cost, injected errors, truth rows, and telling the observer's calls from the program's.
#include "tests/simgpu/call.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/config.h"
#include "tests/simgpu/engine/engine.h"
#include "tests/simgpu/engine/errors.h"
#include "tests/simgpu/engine/internal.h"
#include "tests/simgpu/engine/thread.h"
#include "tests/simgpu/engine/truth.h"

#define EXPORT __attribute__((visibility("default")))

__thread struct thread sim_thread __attribute__((tls_model("initial-exec")));

// What is known of an entry point, found by the address of its name.
struct entry {
    const char *name;
    uint64_t cost_ns;
    bool has_faults;
};

#define ENTRY_COUNT 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[ENTRY_COUNT];
static uint64_t last_correlation;

static void after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    sim_thread.tid = 0;
    truth_after_fork();
    effect_after_fork();
    host_functions_after_fork();
    engine_after_fork();
}

static void init_once(void)
{
    engine_devices_init();
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

void engine_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

// Whether a `fail` line's pattern is for that call; those that begin with "tool:" are for calls of the tracer alone.
static bool is_meant(const char *glob, const char *name, bool by_tracer)
{
    static const char mark[] = "tool:";
    const size_t length = sizeof mark - 1;
    if (strncmp(glob, mark, length) != 0)
        return !by_tracer && fnmatch(glob, name, 0) == 0;
    return by_tracer && fnmatch(glob + length, name, 0) == 0;
}

static const struct entry *entry_of(const char *name)
{
    size_t at = ((uintptr_t)name >> 3) * 0x9e3779b97f4a7c15u >> 52;
    for (size_t tries = 0; tries < ENTRY_COUNT; tries++, at = (at + 1) % ENTRY_COUNT) {
        const char *known = __atomic_load_n(&entries[at].name, __ATOMIC_ACQUIRE);
        if (known == name)
            return &entries[at];
        if (known)
            continue;
        engine_init();
        pthread_mutex_lock(&lock);
        if (!entries[at].name) {
            const struct config *config = config_get();
            entries[at].cost_ns = (uint64_t)config_match(config->api_costs, config->api_cost_count, name, 0);
            for (size_t i = 0; i < config->fault_count; i++)
                entries[at].has_faults |=
                    is_meant(config->faults[i].glob, name, false) || is_meant(config->faults[i].glob, name, true);
            __atomic_store_n(&entries[at].name, name, __ATOMIC_RELEASE);
        }
        known = entries[at].name;
        pthread_mutex_unlock(&lock);
        if (known == name)
            return &entries[at];
    }
    static const struct entry unknown;
    return &unknown;
}

static bool is_tracer_object(const char *path)
{
    const char *base = strrchr(path, '/');
    return strncmp(base ? base + 1 : path, "libgpuwitness-tracer.so", 23) == 0;
}

// Whether `address` lies in the tracer. The tracer is one object, loaded at most once.
static bool is_tracer(const void *address)
{
    static const struct link_map *last_other, *tracer;
    const struct link_map *map;
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0)
        return false;
    map = found.dlfo_link_map;
#else
    Dl_info info;
    struct link_map *extra;
    if (!dladdr1(address, &info, (void **)&extra, RTLD_DL_LINKMAP))
        return false;
    map = extra;
#endif
    if (map == __atomic_load_n(&last_other, __ATOMIC_RELAXED))
        return false;
    if (map == __atomic_load_n(&tracer, __ATOMIC_RELAXED))
        return true;
    const bool is = is_tracer_object(map->l_name);
    __atomic_store_n(is ? &tracer : &last_other, map, __ATOMIC_RELAXED);
    return is;
}

static int fault_of(const char *name, bool by_tracer)
{
    struct config *config = config_get();
    int error = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < config->fault_count; i++) {
        struct config_fault *fault = &config->faults[i];
        if (is_meant(fault->glob, name, by_tracer) && ++fault->seen == fault->nth)
            error = fault->error;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

EXPORT int simgpu_fault(const char *name)
{
    return fault_of(name, false);
}

static int injected_error(const char *name)
{
    const int error = simgpu_fault(name);
    if (sim_error_is_sticky(error))
        sim_context_fail(error);
    return error;
}

static const struct simgpu_observer *observer;

static void show_operation(const struct op *op)
{
    static const int kinds[] = {
        [OP_MARKER] = SIMGPU_GRAPH_END, [OP_KERNEL] = SIMGPU_KERNEL, [OP_MEMSET] = SIMGPU_MEMSET, [OP_H2D] = SIMGPU_H2D,
        [OP_D2H] = SIMGPU_D2H,          [OP_D2D] = SIMGPU_D2D,       [OP_P2P] = SIMGPU_P2P};
    const struct simgpu_observer *watching = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);
    if (!watching || !watching->operation || op->kind == OP_HOST || (op->kind == OP_MARKER && !op->ends_graph))
        return;
    const struct simgpu_operation operation = {.kind = kinds[op->kind],
                                               .device = op->device->index,
                                               .peer = op->peer,
                                               .stream = op->stream,
                                               .name = op->name,
                                               .bytes = op->bytes,
                                               .correlation = op->correlation,
                                               .graph_node = op->graph_node,
                                               .start_ns = op->start_ns,
                                               .end_ns = op->end_ns,
                                               .graph = op->graph,
                                               .is_pageable = op->is_pageable};
    watching->operation(&operation);
}

EXPORT void simgpu_observe(const struct simgpu_observer *watching)
{
    __atomic_store_n(&observer, watching, __ATOMIC_RELEASE);
    engine_lock();
    engine_observe(watching && watching->operation ? show_operation : NULL);
    engine_unlock();
}

static void show_call(struct simgpu_call *call, bool is_exit, int result)
{
    const struct simgpu_observer *watching = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);
    if (!watching || !watching->call)
        return;
    const int error = errno;
    const struct simgpu_call_seen seen = {.name = call->name,
                                          .correlation = sim_thread.correlation,
                                          .begin_ns = &call->begin_ns,
                                          .is_exit = is_exit,
                                          .result = result,
                                          .carried = &call->carried};
    watching->call(&seen);
    errno = error;
}

// A profiler of CUDA numbers the calls of driver and runtime, each that NCCL makes by itself.
static bool is_of_cuda(const char *name)
{
    return strncmp(name, "cu", 2) == 0;
}

EXPORT int simgpu_call_begin(struct simgpu_call *call, const char *name, const void *caller)
{
    struct thread *thread = &sim_thread;
    const struct entry *entry = entry_of(name);
    call->name = name;
    call->begin_ns = 0;
    call->carried = 0;
    const bool by_tracer = is_tracer(caller);
    call->logged = thread->observers == 0 && !by_tracer;
    if (!call->logged) {
        thread->observers++;
        return by_tracer && entry->has_faults ? fault_of(name, true) : 0;
    }
    const bool is_first = thread->depth++ == 0, is_cuda = is_of_cuda(name);
    if (is_first || (is_cuda && thread->cuda_depth == 0))
        thread->correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    thread->cuda_depth += is_cuda;
    if (truth_enabled() || entry->cost_ns)
        call->begin_ns = clock_now_ns();
    if (__atomic_load_n(&observer, __ATOMIC_RELAXED))
        show_call(call, false, 0);
    // What takes long in a call of NCCL is waiting for what other ranks send.
    if (entry->cost_ns && is_cuda)
        clock_spin_until(call->begin_ns + entry->cost_ns);
    else if (entry->cost_ns)
        clock_wait_until(call->begin_ns + entry->cost_ns);
    return entry->has_faults ? injected_error(name) : 0;
}

EXPORT void simgpu_call_end(struct simgpu_call *call, int result)
{
    struct thread *thread = &sim_thread;
    if (!call->logged) {
        thread->observers--;
        return;
    }
    if (__atomic_load_n(&observer, __ATOMIC_RELAXED))
        show_call(call, true, result);
    thread->depth--;
    thread->cuda_depth -= is_of_cuda(call->name);
    if (!truth_enabled())
        return;
    const int error = errno;
    if (!thread->tid)
        thread->tid = (int)gettid();
    truth_write_call(thread->tid, thread->depth + 1, call->name, call->begin_ns, clock_now_ns(), result);
    errno = error;
}
