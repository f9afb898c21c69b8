// Ranges, marks and names that the program gives through NVTX.
#include "shim/tracer/nvtx.h"

#include <errno.h>
#include <pthread.h>
#include <wchar.h>

#include "shim/tracer/events.h"
#include "shim/tracer/steps.h"
#include "shim/tracer/tracer.h"

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf puts abort exit

#define TEXT_MAX 1024u // of wide texts, which are rewritten
#define LEVELS (sizeof(((struct gw_thread *)0)->nvtx_levels))

struct guard {
    struct gw_thread *thread;
    int saved_errno, cancel_state;
};

// Returns false when the thread is inside the tool, or in a child that has not called CUDA.
static bool enter(struct guard *guard)
{
    struct gw_thread *thread = gw_tracer.host->thread();

    if (thread->busy || (thread->generation != gw_tracer.generation && !gw_fork_is_awake()))
        return false;
    thread->busy = 1;
    guard->thread = thread;
    guard->saved_errno = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel_state);
    if (__builtin_expect(thread->generation != gw_tracer.generation, 0))
        gw_thread_enter(thread);
    return true;
}

static void leave(const struct guard *guard)
{
    pthread_setcancelstate(guard->cancel_state, NULL);
    errno = guard->saved_errno;
    guard->thread->busy = 0;
}

// Writes text as UTF-8 into buffer and returns it.
static const char *narrow(const wchar_t *text, char buffer[TEXT_MAX])
{
    size_t at = 0;

    for (; text && *text && at + 5 < TEXT_MAX; text++) {
        uint32_t c = (uint32_t)*text;

        if (c < 0x80) {
            buffer[at++] = (char)c;
        } else if (c < 0x800) {
            buffer[at++] = (char)(0xc0 | c >> 6);
            buffer[at++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            buffer[at++] = (char)(0xe0 | c >> 12);
            buffer[at++] = (char)(0x80 | (c >> 6 & 0x3f));
            buffer[at++] = (char)(0x80 | (c & 0x3f));
        } else {
            buffer[at++] = (char)(0xf0 | (c >> 18 & 7));
            buffer[at++] = (char)(0x80 | (c >> 12 & 0x3f));
            buffer[at++] = (char)(0x80 | (c >> 6 & 0x3f));
            buffer[at++] = (char)(0x80 | (c & 0x3f));
        }
    }
    buffer[at] = '\0';
    return buffer;
}

static uint64_t where(const struct gw_thread *thread)
{
    return GW_CALLER(gw_tracer.pid, thread->tid);
}

// How deep ranges of the domain are nested in the thread; few domains have more to themselves than the last place.
static uint8_t *level_of(struct gw_thread *thread, uint32_t domain)
{
    return &thread->nvtx_levels[domain < LEVELS ? domain : LEVELS - 1];
}

static void emit(enum gw_nvtx_kind kind, uint64_t domain, uint32_t range, const struct gw_nvtx_attributes *attributes)
{
    static const struct gw_nvtx_attributes none;
    const struct gw_nvtx_attributes *a = attributes ? attributes : &none;
    char buffer[TEXT_MAX];
    const char *text = "";
    struct guard guard;
    uint8_t level = 0;

    if (!enter(&guard))
        return;
    uint8_t *open = level_of(guard.thread, (uint32_t)domain);
    if (kind == GW_NVTX_PUSH && *open < UINT8_MAX)
        level = (*open)++;
    else if (kind == GW_NVTX_POP && *open > 0)
        level = --(*open);
    bool registered = a->message_type == GW_NVTX_MESSAGE_REGISTERED;
    uint32_t string = registered ? (uint32_t)(uintptr_t)a->message : 0;
    bool wanted = lttng_ust_tracepoint_enabled(gpuwitness, nvtx);
    if (!wanted && !gw_steps_counted) {
        leave(&guard);
        return;
    }
    if (a->message_type == GW_NVTX_MESSAGE_ASCII && a->message)
        text = a->message;
    else if (a->message_type == GW_NVTX_MESSAGE_WIDE)
        text = narrow(a->message, buffer);
    if (gw_steps_counted && (kind == GW_NVTX_POP || kind == GW_NVTX_END))
        gw_steps_range_ends(guard.thread, kind, domain, kind == GW_NVTX_POP ? level : range);
    else if (gw_steps_counted)
        gw_steps_range_begins(guard.thread, kind, domain, kind == GW_NVTX_PUSH ? level : range, string,
                              registered ? NULL : text);
    if (!wanted || (gw_steps_counted && gw_steps_are_off())) {
        leave(&guard);
        return;
    }
    if (domain >= LEVELS - 1)
        level = GW_NVTX_LEVEL_UNKNOWN;
    lttng_ust_tracepoint(gpuwitness, nvtx, where(guard.thread), GW_NVTX_WHAT(kind, level, a->payload_type, domain),
                         GW_NVTX_ID(range, string),
                         GW_NVTX_TAG(a->color_type == GW_NVTX_COLOR_ARGB ? a->color : 0, a->category), a->payload,
                         text);
    leave(&guard);
}

static void emit_name(enum gw_nvtx_name kind, uint64_t domain, uint64_t id, const char *text)
{
    struct guard guard;

    if (!enter(&guard))
        return;
    lttng_ust_tracepoint(gpuwitness, nvtx_name, where(guard.thread), GW_NVTX_WHAT(kind, 0, 0, domain), id,
                         text ? text : "");
    leave(&guard);
}

// Handles given to the program are numbers from 1 on, each kind of its own; 0 is the domain without a name.
static uint32_t next_number(uint32_t *last)
{
    return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED);
}

static uint32_t last_range, last_domain, last_string;

static struct gw_nvtx_attributes ascii(const char *message)
{
    return (struct gw_nvtx_attributes){.message_type = GW_NVTX_MESSAGE_ASCII, .message = message};
}

static struct gw_nvtx_attributes wide(const wchar_t *message)
{
    return (struct gw_nvtx_attributes){.message_type = GW_NVTX_MESSAGE_WIDE, .message = message};
}

static void domain_mark_ex(uint64_t domain, const struct gw_nvtx_attributes *attributes)
{
    emit(GW_NVTX_MARK, domain, 0, attributes);
}

static void mark_ex(const struct gw_nvtx_attributes *attributes)
{
    domain_mark_ex(0, attributes);
}

static void mark_a(const char *message)
{
    struct gw_nvtx_attributes attributes = ascii(message);

    mark_ex(&attributes);
}

static void mark_w(const wchar_t *message)
{
    struct gw_nvtx_attributes attributes = wide(message);

    mark_ex(&attributes);
}

static uint64_t domain_range_start_ex(uint64_t domain, const struct gw_nvtx_attributes *attributes)
{
    uint32_t range = next_number(&last_range);

    emit(GW_NVTX_START, domain, range, attributes);
    return range;
}

static uint64_t range_start_ex(const struct gw_nvtx_attributes *attributes)
{
    return domain_range_start_ex(0, attributes);
}

static uint64_t range_start_a(const char *message)
{
    struct gw_nvtx_attributes attributes = ascii(message);

    return range_start_ex(&attributes);
}

static uint64_t range_start_w(const wchar_t *message)
{
    struct gw_nvtx_attributes attributes = wide(message);

    return range_start_ex(&attributes);
}

static void domain_range_end(uint64_t domain, uint64_t range)
{
    emit(GW_NVTX_END, domain, (uint32_t)range, NULL);
}

static void range_end(uint64_t range)
{
    domain_range_end(0, range);
}

static int domain_range_push_ex(uint64_t domain, const struct gw_nvtx_attributes *attributes)
{
    emit(GW_NVTX_PUSH, domain, 0, attributes);
    return GW_NVTX_NO_PUSH_POP_TRACKING;
}

static int range_push_ex(const struct gw_nvtx_attributes *attributes)
{
    return domain_range_push_ex(0, attributes);
}

static int range_push_a(const char *message)
{
    struct gw_nvtx_attributes attributes = ascii(message);

    return range_push_ex(&attributes);
}

static int range_push_w(const wchar_t *message)
{
    struct gw_nvtx_attributes attributes = wide(message);

    return range_push_ex(&attributes);
}

static int domain_range_pop(uint64_t domain)
{
    emit(GW_NVTX_POP, domain, 0, NULL);
    return GW_NVTX_NO_PUSH_POP_TRACKING;
}

static int range_pop(void)
{
    return domain_range_pop(0);
}

static void domain_name_category_a(uint64_t domain, uint32_t category, const char *name)
{
    emit_name(GW_NVTX_NAME_CATEGORY, domain, category, name);
}

static void domain_name_category_w(uint64_t domain, uint32_t category, const wchar_t *name)
{
    char buffer[TEXT_MAX];

    domain_name_category_a(domain, category, narrow(name, buffer));
}

static uint64_t domain_register_string_a(uint64_t domain, const char *text)
{
    uint32_t string = next_number(&last_string);

    if (gw_steps_counted)
        gw_steps_string(gw_tracer.host->thread(), string, text);
    emit_name(GW_NVTX_NAME_STRING, domain, string, text);
    return string;
}

static uint64_t domain_register_string_w(uint64_t domain, const wchar_t *text)
{
    char buffer[TEXT_MAX];

    return domain_register_string_a(domain, narrow(text, buffer));
}

static uint64_t domain_create_a(const char *name)
{
    uint32_t domain = next_number(&last_domain);

    emit_name(GW_NVTX_NAME_DOMAIN, domain, domain, name);
    return domain;
}

static uint64_t domain_create_w(const wchar_t *name)
{
    char buffer[TEXT_MAX];

    return domain_create_a(narrow(name, buffer));
}

// Functions that name something: its number or handle, then the name.
#define NAMES(what, type, kind)                                                                                        \
    static void name_##what##_a(type id, const char *name)                                                             \
    {                                                                                                                  \
        emit_name(kind, 0, id, name);                                                                                  \
    }                                                                                                                  \
    static void name_##what##_w(type id, const wchar_t *name)                                                          \
    {                                                                                                                  \
        char buffer[TEXT_MAX];                                                                                         \
                                                                                                                       \
        emit_name(kind, 0, id, narrow(name, buffer));                                                                  \
    }

NAMES(category, uint32_t, GW_NVTX_NAME_CATEGORY)
NAMES(thread, uint32_t, GW_NVTX_NAME_THREAD)
NAMES(device, uint32_t, GW_NVTX_NAME_DEVICE)
NAMES(context, uint64_t, GW_NVTX_NAME_CONTEXT)
NAMES(stream, uint64_t, GW_NVTX_NAME_STREAM)
NAMES(event, uint64_t, GW_NVTX_NAME_EVENT)

#define PLACE(module, id, handler)                                                                                     \
    {                                                                                                                  \
        module, id, (gw_nvtx_function *)handler                                                                        \
    }
static const struct {
    uint8_t module, id;
    gw_nvtx_function *handler;
} handlers[] = {
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_MARK_EX, mark_ex),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_MARK_A, mark_a),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_MARK_W, mark_w),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_START_EX, range_start_ex),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_START_A, range_start_a),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_START_W, range_start_w),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_END, range_end),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_PUSH_EX, range_push_ex),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_PUSH_A, range_push_a),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_PUSH_W, range_push_w),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_RANGE_POP, range_pop),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_NAME_CATEGORY_A, name_category_a),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_NAME_CATEGORY_W, name_category_w),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_NAME_OS_THREAD_A, name_thread_a),
    PLACE(GW_NVTX_CORE, GW_NVTX_CORE_NAME_OS_THREAD_W, name_thread_w),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_MARK_EX, domain_mark_ex),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_RANGE_END, domain_range_end),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_RANGE_POP, domain_range_pop),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_NAME_CATEGORY_A, domain_name_category_a),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_NAME_CATEGORY_W, domain_name_category_w),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_REGISTER_STRING_A, domain_register_string_a),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_REGISTER_STRING_W, domain_register_string_w),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_CREATE_A, domain_create_a),
    PLACE(GW_NVTX_CORE2, GW_NVTX_CORE2_DOMAIN_CREATE_W, domain_create_w),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_DEVICE_A, name_device_a),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_DEVICE_W, name_device_w),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_CONTEXT_A, name_context_a),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_CONTEXT_W, name_context_w),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_STREAM_A, name_stream_a),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_STREAM_W, name_stream_w),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_EVENT_A, name_event_a),
    PLACE(GW_NVTX_CUDA, GW_NVTX_CUDA_NAME_EVENT_W, name_event_w),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_DEVICE_A, name_device_a),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_DEVICE_W, name_device_w),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_STREAM_A, name_stream_a),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_STREAM_W, name_stream_w),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_EVENT_A, name_event_a),
    PLACE(GW_NVTX_CUDART, GW_NVTX_CUDART_NAME_EVENT_W, name_event_w),
};

int gw_nvtx_attach(gw_nvtx_export_table_fn *export_table)
{
    const struct gw_nvtx_callbacks *callbacks = export_table(GW_NVTX_TABLE_CALLBACKS);
    int attached = 0;

    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->function_table)
        return 0;
    for (unsigned i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        gw_nvtx_function ***table = NULL;
        unsigned size = 0;

        if (callbacks->function_table(handlers[i].module, &table, &size) != 1 || !table || handlers[i].id >= size ||
            !table[handlers[i].id])
            continue;
        __atomic_store_n(table[handlers[i].id], handlers[i].handler, __ATOMIC_RELEASE);
        attached = 1;
    }
    return attached;
}
