// Entering and leaving calls, initialisation, versions, error texts, objects.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/errors.h"
#include "tests/simgpu/engine/internal.h"

static enum { UNINITIALISED, INITIALISED, FORKED, DEINITIALISED } state;

static CUresult check_needs(unsigned needs)
{
    if (needs == NEED_NOTHING)
        return CUDA_SUCCESS;
    if (sim_thread.in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    if (state != INITIALISED)
        return state == DEINITIALISED ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    if ((needs & NEED_CONTEXT) == NEED_CONTEXT) {
        const struct CUctx_st *context = context_current();
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (!IS(context, MAGIC_CONTEXT))
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->lost)
            return context->lost;
    }
    return needs & UNSAFE ? capture_forbids_unsafe() : CUDA_SUCCESS;
}

CUresult sim_enter(struct simgpu_call *call, const char *name, const void *caller, unsigned needs)
{
    const CUresult injected = (CUresult)simgpu_call_begin(call, name, caller);
    engine_lock();
    return injected ? injected : check_needs(needs);
}

CUresult sim_leave(struct simgpu_call *call, CUresult result)
{
    engine_unlock();
    if (sim_thread.cost_ns) {
        clock_spin_until(clock_now_ns() + sim_thread.cost_ns);
        sim_thread.cost_ns = 0;
    }
    simgpu_call_end(call, (int)result);
    return result;
}

void sim_context_fail(int error)
{
    engine_lock();
    struct CUctx_st *context = context_current();
    if (IS(context, MAGIC_CONTEXT))
        context->lost = (CUresult)error;
    engine_unlock();
}

static void after_fork_in_child(void)
{
    if (state == INITIALISED)
        state = FORKED;
    sim_thread.context_count = 0;
}

static CUresult init(unsigned flags)
{
    static bool registered;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_thread.in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    if (state == INITIALISED)
        return CUDA_SUCCESS;
    if (state != UNINITIALISED)
        return state == DEINITIALISED ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    engine_init();
    if (config_get()->broken)
        return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!registered)
        pthread_atfork(NULL, NULL, after_fork_in_child);
    registered = true;
    state = INITIALISED;
    return CUDA_SUCCESS;
}

__attribute__((destructor)) static void deinit(void)
{
    if (state == INITIALISED)
        state = DEINITIALISED;
}

ENTRY(NEED_NOTHING, cuInit, (unsigned Flags), init(Flags))

static CUresult driver_version(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

ENTRY(NEED_NOTHING, cuDriverGetVersion, (int *driverVersion), driver_version(driverVersion))

static CUresult error_text(CUresult error, const char **text, bool name)
{
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_error *found = sim_error_find((int)error);
    *text = !found ? NULL : name ? found->name : found->text;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ENTRY(NEED_NOTHING, cuGetErrorName, (CUresult error, const char **pStr), error_text(error, pStr, true))
ENTRY(NEED_NOTHING, cuGetErrorString, (CUresult error, const char **pStr), error_text(error, pStr, false))
// Undocumented tables are not imitated.
ENTRY(NEED_NOTHING, cuGetExportTable, (const void **ppExportTable, const CUuuid *pExportTableId),
      ppExportTable &&pExportTableId ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE)
ENTRY(NEED_CONTEXT, cuProfilerStart, (void), CUDA_SUCCESS)
ENTRY(NEED_CONTEXT, cuProfilerStop, (void), CUDA_SUCCESS)

// Freed objects, one line for each size (few exist). First in, first out, and only from a certain length on, so that a
// stale handle stays recognisable for long.
struct free_object {
    enum magic magic; // none
    struct free_object *next;
};

static struct free_line {
    size_t size, count;
    struct free_object *first, *last;
} free_lines[32];

#define KEEP_FREED 64u

static struct free_line *free_line(size_t size)
{
    struct free_line *line = free_lines;
    while (line->size && line->size != size)
        line++;
    line->size = size;
    return line;
}

void *object_new(enum magic magic, size_t size)
{
    struct free_line *line = free_line(size);
    void *object = NULL;
    if (line->count > KEEP_FREED) {
        object = line->first;
        line->first = line->first->next;
        line->count--;
        memset(object, 0, size);
    } else if (!(object = calloc(1, size))) {
        abort();
    }
    memcpy(object, &magic, sizeof magic);
    return object;
}

void object_free(void *object, size_t size)
{
    struct free_line *line = free_line(size);
    struct free_object *freed = object;
    memset(object, 0, size);
    if (line->count++)
        line->last->next = freed;
    else
        line->first = freed;
    line->last = freed;
}

uint64_t thread_serial(void)
{
    static uint64_t last;
    if (!sim_thread.serial)
        sim_thread.serial = ++last;
    return sim_thread.serial;
}
