// Kinds of activity that are on, external correlation, and records of operations and calls.
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/cupti/profiler.h"
#include "tests/simgpu/engine/clock.h"

#define EXTERNAL_DEPTH 64u
#define FUNCTIONS 2048u
#define GRAPHS 256u // launches of graphs in flight at once, at most

static uint8_t enabled[CUPTI_ACTIVITY_KIND_COUNT];

// What kind of number a record has for the thread; the default is the system's as well here.
static CUpti_ActivityThreadIdType thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

// What was said of single functions since their kind was last enabled or disabled, by callback id.
enum choice { AS_THE_KIND, CHOSEN, LEFT_OUT };
static uint8_t runtime_choices[FUNCTIONS], driver_choices[FUNCTIONS];

struct external {
    uint64_t ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][EXTERNAL_DEPTH];
    unsigned depth[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
};

static __thread struct external external;

// When the nodes of a launch, whose times become known one by one, began. Guarded by the driver's engine lock.
static struct graph_launch {
    uint64_t correlation, start_ns, end_ns;
} graphs[GRAPHS];

bool activity_enabled(CUpti_ActivityKind kind)
{
    return __atomic_load_n(&enabled[kind], __ATOMIC_RELAXED) != 0;
}

void activity_stop(void)
{
    memset(enabled, 0, sizeof enabled);
    memset(runtime_choices, AS_THE_KIND, sizeof runtime_choices);
    memset(driver_choices, AS_THE_KIND, sizeof driver_choices);
}

static uint8_t *choices_of(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_RUNTIME  ? runtime_choices
           : kind == CUPTI_ACTIVITY_KIND_DRIVER ? driver_choices
                                                : NULL;
}

static bool function_enabled(CUpti_ActivityKind kind, CUpti_CallbackId id)
{
    const int choice = id < FUNCTIONS ? __atomic_load_n(&choices_of(kind)[id], __ATOMIC_RELAXED) : AS_THE_KIND;
    return choice == AS_THE_KIND ? activity_enabled(kind) : choice == CHOSEN;
}

static bool graph_part(const struct simgpu_operation *operation)
{
    struct graph_launch *launch = &graphs[operation->correlation % GRAPHS];
    if (launch->correlation != operation->correlation)
        *launch = (struct graph_launch){operation->correlation, operation->start_ns, operation->end_ns};
    if (operation->start_ns < launch->start_ns)
        launch->start_ns = operation->start_ns;
    if (operation->end_ns > launch->end_ns)
        launch->end_ns = operation->end_ns;
    return true;
}

static CUpti_ActivityKind kind_of(const struct simgpu_operation *operation)
{
    switch (operation->kind) {
    case SIMGPU_KERNEL:
        return activity_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                                                       : CUPTI_ACTIVITY_KIND_KERNEL;
    case SIMGPU_MEMSET:
        return CUPTI_ACTIVITY_KIND_MEMSET;
    case SIMGPU_P2P:
        return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case SIMGPU_GRAPH_END:
        return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    case SIMGPU_H2D:
    case SIMGPU_D2H:
    case SIMGPU_D2D:
        break;
    }
    return CUPTI_ACTIVITY_KIND_MEMCPY;
}

void activity_operation(const struct simgpu_operation *operation)
{
    union record record;
    struct simgpu_operation whole = *operation;
    const CUpti_ActivityKind kind = kind_of(operation);
    const bool by_graph = activity_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    // With graph-level records there are none of the nodes.
    if (operation->graph && operation->kind != SIMGPU_GRAPH_END && by_graph && graph_part(operation))
        return;
    if (!activity_enabled(kind))
        return;
    if (operation->kind == SIMGPU_GRAPH_END) {
        const struct graph_launch *launch = &graphs[operation->correlation % GRAPHS];
        if (launch->correlation != operation->correlation)
            return;
        whole.start_ns = launch->start_ns;
        whole.end_ns = launch->end_ns;
    }
    record_operation(&record, &whole, kind);
    delivery_queue(&record, 1, whole.end_ns, operation->graph != 0);
    // `fail cuptiUnwantedRecord NTH 1` leaves one of a kind that nobody turned on.
    if (profiler_fault("cuptiUnwantedRecord")) {
        record = (union record){.external = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}};
        delivery_queue(&record, 1, whole.end_ns, false);
    }
}

// The records of external ids that go before a call's. Returns how many.
static unsigned external_records(union record *records, uint32_t correlation)
{
    unsigned count = 0;
    for (int kind = CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        if (!external.depth[kind])
            continue;
        union record *record = &records[count++];
        *record = (union record){.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
        record->external.externalKind = (CUpti_ExternalCorrelationKind)kind;
        record->external.externalId = external.ids[kind][external.depth[kind] - 1];
        record->external.correlationId = correlation;
    }
    return count;
}

static CUpti_ActivitySynchronizationType wait_type(const char *name)
{
    static const struct {
        const char *prefix;
        CUpti_ActivitySynchronizationType type;
    } waits[] = {{"cuStreamSynchronize", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE},
                 {"cuCtxSynchronize", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE},
                 {"cuEventSynchronize", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE},
                 {"cuStreamWaitEvent", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (strncmp(name, waits[i].prefix, strlen(waits[i].prefix)) == 0)
            return waits[i].type;
    }
    return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
}

static void queue_wait(const struct simgpu_call_seen *call, uint64_t now_ns)
{
    union record record = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    record.wait.type = wait_type(call->name);
    if (record.wait.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN)
        return;
    record.wait.start = *call->begin_ns;
    record.wait.end = now_ns;
    record.wait.correlationId = (uint32_t)call->correlation;
    record.wait.streamId = record.wait.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    record.wait.returnValue = (uint32_t)call->result;
    delivery_queue(&record, 1, now_ns, false);
}

void activity_call(const struct simgpu_call_seen *call, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const CUpti_ActivityKind kind =
        domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    const bool waits = activity_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), wanted = function_enabled(kind, id);
    if (!waits && !wanted)
        return; // the clock is most of what a call costs here
    const uint64_t now_ns = clock_now_ns();
    if (!*call->begin_ns)
        *call->begin_ns = now_ns;
    if (!call->is_exit)
        return;
    if (waits)
        queue_wait(call, now_ns);
    if (!wanted)
        return;
    union record records[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE + 1];
    unsigned count = 0;
    if (activity_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        count = external_records(records, (uint32_t)call->correlation);
    union record *record = &records[count++];
    *record = (union record){.kind = kind};
    record->api.cbid = id;
    record->api.start = *call->begin_ns;
    record->api.end = now_ns;
    record->api.processId = (uint32_t)getpid();
    record->api.threadId = (uint32_t)gettid();
    record->api.correlationId = (uint32_t)call->correlation;
    record->api.returnValue = (uint32_t)call->result;
    delivery_queue(records, count, now_ns, false);
}

// Kinds that can be asked for and of which nothing comes: what does not happen here, and ranges of NVTX, which are not
// served.
static bool is_silent(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_OVERHEAD || kind == CUPTI_ACTIVITY_KIND_ENVIRONMENT ||
           kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER || kind == CUPTI_ACTIVITY_KIND_MARKER ||
           kind == CUPTI_ACTIVITY_KIND_MARKER_DATA;
}

static CUptiResult set_enabled(CUpti_ActivityKind kind, bool on)
{
    if (!record_size(kind) && !is_silent(kind))
        return CUPTI_ERROR_INVALID_KIND;
    if (!profiler_has_driver())
        return CUPTI_ERROR_NOT_INITIALIZED;
    // Both kinds of kernel records at once are not possible: one of them serialises the kernels.
    const CUpti_ActivityKind other = kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                     : kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? CUPTI_ACTIVITY_KIND_KERNEL
                                                                                     : kind;
    if (on && other != kind && activity_enabled(other))
        return CUPTI_ERROR_NOT_COMPATIBLE;
    if (choices_of(kind))
        memset(choices_of(kind), AS_THE_KIND, FUNCTIONS);
    __atomic_store_n(&enabled[kind], on, __ATOMIC_RELAXED);
    if (on)
        profiler_watch(true);
    return CUPTI_SUCCESS;
}

static CUptiResult set_function_enabled(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on)
{
    if (id >= FUNCTIONS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!profiler_has_driver())
        return CUPTI_ERROR_NOT_INITIALIZED;
    __atomic_store_n(&choices_of(kind)[id], on ? CHOSEN : LEFT_OUT, __ATOMIC_RELAXED);
    if (on)
        profiler_watch(true);
    return CUPTI_SUCCESS;
}

// Sizes of buffers and pools: there are none here that they could limit.
static CUptiResult set_attribute(CUpti_ActivityAttribute attribute, const size_t *size, const void *value)
{
    (void)attribute;
    return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult push(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (external.depth[kind] == EXTERNAL_DEPTH)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    external.ids[kind][external.depth[kind]++] = id;
    return CUPTI_SUCCESS;
}

static CUptiResult pop(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!external.depth[kind])
        return CUPTI_ERROR_QUEUE_EMPTY;
    external.depth[kind]--;
    if (last)
        *last = external.ids[kind][external.depth[kind]];
    return CUPTI_SUCCESS;
}

static CUptiResult set_thread_id_type(CUpti_ActivityThreadIdType type)
{
    if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT && type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return CUPTI_ERROR_NOT_SUPPORTED;
    __atomic_store_n(&thread_id_type, type, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

static CUptiResult get_thread_id_type(CUpti_ActivityThreadIdType *type)
{
    if (!type)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *type = __atomic_load_n(&thread_id_type, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

ENTRY(cuptiSetThreadIdType, (CUpti_ActivityThreadIdType type), set_thread_id_type(type))
ENTRY(cuptiGetThreadIdType, (CUpti_ActivityThreadIdType * type), get_thread_id_type(type))
ENTRY(cuptiActivityEnable, (CUpti_ActivityKind kind), set_enabled(kind, true))
ENTRY(cuptiActivityDisable, (CUpti_ActivityKind kind), set_enabled(kind, false))
ENTRY(cuptiActivityPushExternalCorrelationId, (CUpti_ExternalCorrelationKind kind, uint64_t id), push(kind, id))
ENTRY(cuptiActivityPopExternalCorrelationId, (CUpti_ExternalCorrelationKind kind, uint64_t *lastId), pop(kind, lastId))
ENTRY(cuptiActivityEnableRuntimeApi, (CUpti_CallbackId cbid, uint8_t enable),
      set_function_enabled(CUPTI_ACTIVITY_KIND_RUNTIME, cbid, enable))
ENTRY(cuptiActivityEnableDriverApi, (CUpti_CallbackId cbid, uint8_t enable),
      set_function_enabled(CUPTI_ACTIVITY_KIND_DRIVER, cbid, enable))
ENTRY(cuptiActivitySetAttribute, (CUpti_ActivityAttribute attr, size_t *valueSize, void *value),
      set_attribute(attr, valueSize, value))
// There are no records of events that could have times of the device.
ENTRY(cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t enable),
      ((void)enable, profiler_has_driver() ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_INITIALIZED))
