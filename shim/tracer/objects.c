#include "shim/tracer/objects.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shim/timing/timing.h"
#include "shim/tracer/driver.h"
#include "shim/tracer/events.h"
#include "shim/tracer/steps.h"

#define CONTEXTS_MAX 64
#define STREAMS_MAX 4096
#define BUCKETS 1024
#define DEVICES_MAX 64

enum { RAW_LEGACY = 1, RAW_PER_THREAD = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // never held across a call of the program's
static struct gw_context contexts[CONTEXTS_MAX];
static unsigned context_count;
static struct gw_stream streams[STREAMS_MAX];
static unsigned stream_count; // slots used so far
static uint16_t buckets[BUCKETS], free_head, free_tail;
static uint32_t generation = 1; // grows when a stream or context goes
static bool device_known[DEVICES_MAX];
static uint32_t next_number[DEVICES_MAX];

static void emit_device(const struct gw_driver *driver, uint32_t device)
{
    enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76 };
    char name[128] = "", pci[32] = "", uuid[37] = "";
    unsigned char raw[16] = {0};
    size_t memory_bytes = 0;
    int multiprocessors = 0, major = 0, minor = 0, visible = 0;

    if (driver->cuDeviceGetName)
        driver->cuDeviceGetName(name, sizeof(name), (int)device);
    if (driver->cuDeviceGetPCIBusId)
        driver->cuDeviceGetPCIBusId(pci, sizeof(pci), (int)device);
    if (driver->cuDeviceTotalMem_v2)
        driver->cuDeviceTotalMem_v2(&memory_bytes, (int)device);
    if (driver->cuDeviceGetUuid_v2 && driver->cuDeviceGetUuid_v2(raw, (int)device) == 0)
        for (unsigned i = 0, at = 0; i < sizeof(raw); i++)
            at += (unsigned)snprintf(uuid + at, sizeof(uuid) - at,
                                     i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", raw[i]);
    driver->cuDeviceGetAttribute(&multiprocessors, MULTIPROCESSORS, (int)device);
    driver->cuDeviceGetAttribute(&major, MAJOR, (int)device);
    driver->cuDeviceGetAttribute(&minor, MINOR, (int)device);
    if (driver->cuDeviceGetCount)
        driver->cuDeviceGetCount(&visible);
    lttng_ust_tracepoint(gpuwitness, device, gw_tracer.pid, device, name, uuid, pci, memory_bytes,
                         (uint64_t)(uint32_t)multiprocessors | (uint64_t)(uint16_t)(major * 10 + minor) << 32 |
                             (uint64_t)(uint16_t)visible << 48);
}

// The device of a context; it is made current for the question when it is not.
static int device_of(const struct gw_driver *driver, uint64_t context, int *ret_device)
{
    uint64_t current = 0;
    int error;

    driver->cuCtxGetCurrent(&current);
    if (current == context)
        return driver->cuCtxGetDevice(ret_device);
    error = driver->cuCtxPushCurrent_v2(context);
    if (error != 0)
        return error;
    error = driver->cuCtxGetDevice(ret_device);
    driver->cuCtxPopCurrent_v2(&current);
    return error;
}

static struct gw_context *find_context(uint64_t handle)
{
    for (unsigned i = 0; i < context_count; i++)
        if (contexts[i].handle == handle && !contexts[i].gone)
            return &contexts[i];
    return NULL;
}

// Called with the lock held. The slot of an ended context is taken again only when there is no fresh one.
static struct gw_context *free_context(void)
{
    if (context_count < CONTEXTS_MAX)
        return &contexts[context_count++];
    for (unsigned i = 0; i < CONTEXTS_MAX; i++)
        if (contexts[i].gone)
            return &contexts[i];
    return NULL;
}

// Called with the lock held.
static struct gw_context *get_context(const struct gw_driver *driver, uint64_t handle)
{
    struct gw_context *context = handle ? find_context(handle) : NULL;
    int device;

    if (context || !handle)
        return context;
    if (device_of(driver, handle, &device) != 0 || device < 0 || device >= DEVICES_MAX)
        return NULL;
    context = free_context();
    if (!context)
        return NULL;
    *context = (struct gw_context){.handle = handle, .device = (uint32_t)device};
    if (!device_known[device]) {
        device_known[device] = true;
        emit_device(driver, (uint32_t)device);
    }
    return context;
}

static unsigned bucket_of(uint64_t raw)
{
    return (unsigned)((raw >> 4 ^ raw >> 14) % BUCKETS);
}

// A default stream has no handle of its own: the device, and for a per-thread one the thread, make its event handle
// unique.
static uint64_t event_handle(uint64_t raw, uint32_t device, uint32_t tid)
{
    if (raw == RAW_LEGACY)
        return (uint64_t)device << 56;
    if (raw == RAW_PER_THREAD)
        return (uint64_t)device << 56 | (uint64_t)tid << 8 | RAW_PER_THREAD;
    return raw;
}

// Called with the lock held. Returns the stream of that event handle, made when it is new.
static struct gw_stream *get_stream(struct gw_context *context, uint64_t raw, uint64_t handle, uint32_t flags)
{
    uint16_t *head = &buckets[bucket_of(handle)];
    struct gw_stream *stream;

    for (uint16_t at = *head; at; at = streams[at - 1].next)
        if (streams[at - 1].handle == handle && streams[at - 1].context == context)
            return &streams[at - 1];
    if (stream_count < STREAMS_MAX) {
        stream = &streams[stream_count++];
    } else if (free_head) {
        stream = &streams[free_head - 1];
        free_head = stream->next;
        free_tail = free_head ? free_tail : 0;
    } else {
        return NULL;
    }
    *stream = (struct gw_stream){.raw = raw,
                                 .handle = handle,
                                 .context = context,
                                 .device = context->device,
                                 .number = raw == RAW_LEGACY ? 0 : ++next_number[context->device],
                                 .flags = flags,
                                 .next = *head};
    *head = (uint16_t)(stream - streams + 1);
    lttng_ust_tracepoint(gpuwitness, stream, gw_tracer.pid, stream->device, handle, stream->number, flags);
    return stream;
}

static void remove_stream(struct gw_stream *stream)
{
    uint16_t index = (uint16_t)(stream - streams + 1);
    uint16_t *at = &buckets[bucket_of(stream->handle)];

    while (*at && *at != index)
        at = &streams[*at - 1].next;
    if (!*at)
        return;
    *at = stream->next;
    // Freed slots are reused last, so that a call that still holds one does not meet another stream in it.
    stream->next = 0;
    if (free_tail)
        streams[free_tail - 1].next = index;
    else
        free_head = index;
    free_tail = index;
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
}

static uint32_t flags_of(uint64_t raw, const struct gw_driver *driver)
{
    unsigned flags = 0;

    if (raw == RAW_LEGACY)
        return GW_STREAM_LEGACY;
    if (raw == RAW_PER_THREAD)
        return GW_STREAM_PER_THREAD;
    if (driver->cuStreamGetFlags)
        driver->cuStreamGetFlags(raw, &flags);
    return flags & 1 ? GW_STREAM_NON_BLOCKING : 0;
}

// The stream of a raw handle, which may be new, in a context; 0: the stream's own, or the current one.
static const struct gw_stream *find_stream(const struct gw_driver *driver, uint64_t raw, uint64_t owner, uint32_t tid)
{
    const struct gw_stream *stream = NULL;
    struct gw_section section;

    gw_section_begin(&section);
    if (!owner && (!driver->cuStreamGetCtx || driver->cuStreamGetCtx(raw, &owner) != 0))
        driver->cuCtxGetCurrent(&owner);
    pthread_mutex_lock(&lock);
    struct gw_context *context = get_context(driver, owner);
    if (context)
        stream = get_stream(context, raw, event_handle(raw, context->device, tid), flags_of(raw, driver));
    pthread_mutex_unlock(&lock);
    gw_section_end(&section);
    return stream;
}

const struct gw_stream *gw_stream_get(struct gw_thread *thread, uint64_t raw, bool per_thread)
{
    if (raw == 0)
        raw = per_thread ? RAW_PER_THREAD : RAW_LEGACY;

    const unsigned slot = raw <= RAW_PER_THREAD ? (unsigned)raw - 1 : 2 + (raw >> 8 & 1);
    const uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    const struct gw_driver *driver = NULL;
    uint64_t current = 0;

    if (__builtin_expect(thread->streams_generation != now, 0)) {
        thread->streams_generation = now;
        memset(thread->streams, 0, sizeof(thread->streams));
    }
    if (raw <= RAW_PER_THREAD) {
        driver = gw_driver();
        if (driver)
            driver->cuCtxGetCurrent(&current);
        if (!current)
            return NULL;
        if (current != thread->context) {
            thread->context = current;
            thread->streams[0].handle = thread->streams[1].handle = 0;
        }
    }
    if (__builtin_expect(thread->streams[slot].handle == raw, 1))
        return thread->streams[slot].stream;
    driver = gw_driver();
    const struct gw_stream *stream = driver ? find_stream(driver, raw, current, thread->tid) : NULL;
    if (stream) {
        thread->streams[slot].handle = raw;
        thread->streams[slot].stream = stream;
    }
    return stream;
}

uint64_t gw_stream_event_handle(struct gw_thread *thread, uint64_t raw, bool per_thread)
{
    const struct gw_stream *stream = gw_stream_get(thread, raw, per_thread);

    return stream ? stream->handle : raw;
}

void gw_stream_created(uint64_t raw, uint32_t cuda_flags)
{
    const struct gw_driver *driver = gw_driver();
    uint64_t current = 0;

    if (!driver || driver->cuCtxGetCurrent(&current) != 0)
        return;
    pthread_mutex_lock(&lock);
    struct gw_context *context = get_context(driver, current);
    if (context)
        get_stream(context, raw, raw, cuda_flags & 1 ? GW_STREAM_NON_BLOCKING : 0);
    pthread_mutex_unlock(&lock);
}

void gw_stream_destroyed(uint64_t raw)
{
    pthread_mutex_lock(&lock);
    for (uint16_t at = buckets[bucket_of(raw)]; at; at = streams[at - 1].next)
        if (streams[at - 1].raw == raw) {
            remove_stream(&streams[at - 1]);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void gw_device_opened(int device)
{
    const struct gw_driver *driver = gw_driver();

    if (!driver || device < 0 || device >= DEVICES_MAX)
        return;
    pthread_mutex_lock(&lock);
    if (!device_known[device]) {
        device_known[device] = true;
        emit_device(driver, (uint32_t)device);
    }
    pthread_mutex_unlock(&lock);
}

void gw_context_created(uint64_t handle)
{
    const struct gw_driver *driver = gw_driver();

    if (!driver)
        return;
    pthread_mutex_lock(&lock);
    struct gw_context *context = get_context(driver, handle);
    if (context)
        context->made = true;
    pthread_mutex_unlock(&lock);
}

// Called with the lock held.
static void forget(struct gw_context *context)
{
    context->gone = true;
    for (unsigned i = 0; i < stream_count; i++)
        if (streams[i].context == context)
            remove_stream(&streams[i]);
    if (gw_tracer.timing)
        gw_tracer.timing->drop(context);
}

void gw_contexts_ended(unsigned function, uint64_t argument, int32_t result)
{
    const struct gw_driver *driver = gw_driver();
    const char *base = gw_function_row(function)->base;
    bool one = strcmp(base, "cuCtxDestroy") == 0;
    // A reset ends everything in the primary context, whatever is said of its state afterwards.
    bool reset = strcmp(base, "cuDevicePrimaryCtxReset") == 0;

    if (!driver || result != 0)
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < context_count; i++) {
        struct gw_context *context = &contexts[i];
        unsigned flags;
        int active = 1;

        if (context->gone)
            continue;
        if (one && context->handle == argument)
            forget(context);
        else if (reset && !context->made && context->device == (uint32_t)argument)
            forget(context);
        else if (!one && !reset && !context->made && driver->cuDevicePrimaryCtxGetState &&
                 driver->cuDevicePrimaryCtxGetState((int)context->device, &flags, &active) == 0 && !active)
            forget(context);
    }
    pthread_mutex_unlock(&lock);
}

static void emit_name(uint64_t function, const char *name)
{
    if (!function || !name)
        return;
    lttng_ust_tracepoint(gpuwitness, function, gw_tracer.pid, function, name);
    if (gw_steps_counted)
        gw_steps_kernel_named(function, name);
}

void gw_functions_named(enum gw_action action, const uint64_t *words)
{
    const struct gw_driver *driver = gw_driver();
    const uint64_t *out = (const uint64_t *)words[0];
    const char *name = NULL;

    if (!driver || !out)
        return;
    if (action == GW_ACTION_NAMED_FUNCTION) {
        emit_name(*out, (const char *)words[2]);
    } else if (action == GW_ACTION_FUNCTION_OF_KERNEL && driver->cuFuncGetName) {
        if (driver->cuFuncGetName(&name, *out) == 0)
            emit_name(*out, name);
    } else if (action == GW_ACTION_ENUMERATE_FUNCTIONS && driver->cuFuncGetName) {
        for (uint32_t i = 0; i < (uint32_t)words[1]; i++)
            if (driver->cuFuncGetName(&name, out[i]) == 0)
                emit_name(out[i], name);
    } else if (action == GW_ACTION_ENUMERATE_KERNELS && driver->cuKernelGetName) {
        for (uint32_t i = 0; i < (uint32_t)words[1]; i++)
            if (driver->cuKernelGetName(&name, out[i]) == 0)
                emit_name(out[i], name);
    }
}
