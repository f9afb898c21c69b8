// Begin and end of a recorded call, and the tracer's start.
#include "shim/tracer/tracer.h"

#include <errno.h>
#include <lttng/ust-thread.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/api/functions_mark.h"
#include "shim/timing/timing.h"
#include "shim/timing/window.h"
#include "shim/tracer/driver.h"
#include "shim/tracer/events.h"
#include "shim/tracer/nvtx.h"
#include "shim/tracer/objects.h"
#include "shim/tracer/steps.h"
#include "shim/tracer/tally.h"

struct gw_tracer gw_tracer;

// CPU time of a thread is read at least this often while it makes calls, which bounds what thread.c has to assume.
#define CPU_READING_MAX_AGE_NS 1000000u

static const struct {
    const char *base;
    enum gw_action action;
} actions[] = {
    {"cuStreamCreate", GW_ACTION_STREAM_CREATE},
    {"cuStreamCreateWithPriority", GW_ACTION_STREAM_CREATE},
    {"cuStreamDestroy", GW_ACTION_STREAM_DESTROY},
    {"cuStreamBeginCapture", GW_ACTION_CAPTURE_BEGIN},
    {"cuStreamBeginCaptureToGraph", GW_ACTION_CAPTURE_BEGIN},
    {"cuStreamEndCapture", GW_ACTION_CAPTURE_END},
    {"cuCtxCreate", GW_ACTION_CONTEXT_NEW},
    {"cuDevicePrimaryCtxRetain", GW_ACTION_CONTEXT_RETAIN},
    {"cuCtxDestroy", GW_ACTION_CONTEXT_END},
    {"cuCtxDetach", GW_ACTION_CONTEXT_END},
    {"cuDevicePrimaryCtxReset", GW_ACTION_CONTEXT_END},
    {"cuDevicePrimaryCtxRelease", GW_ACTION_CONTEXT_END},
    {"cudaDeviceReset", GW_ACTION_CONTEXT_END},
    {"cudaThreadExit", GW_ACTION_CONTEXT_END},
    {"cuModuleGetFunction", GW_ACTION_NAMED_FUNCTION},
    {"cuLibraryGetKernel", GW_ACTION_NAMED_FUNCTION},
    {"cuKernelGetFunction", GW_ACTION_FUNCTION_OF_KERNEL},
    {"cuModuleEnumerateFunctions", GW_ACTION_ENUMERATE_FUNCTIONS},
    {"cuLibraryEnumerateKernels", GW_ACTION_ENUMERATE_KERNELS},
    {"ncclCommInitRank", GW_ACTION_COMM_INIT_RANK},
    {"pncclCommInitRank", GW_ACTION_COMM_INIT_RANK},
    {"ncclCommInitRankConfig", GW_ACTION_COMM_INIT_RANK},
    {"pncclCommInitRankConfig", GW_ACTION_COMM_INIT_RANK},
    {"ncclCommInitRankScalable", GW_ACTION_COMM_INIT_SCALABLE},
    {"pncclCommInitRankScalable", GW_ACTION_COMM_INIT_SCALABLE},
    {"ncclCommInitAll", GW_ACTION_COMM_INIT_ALL},
    {"pncclCommInitAll", GW_ACTION_COMM_INIT_ALL},
    {"ncclCommSplit", GW_ACTION_COMM_SPLIT},
    {"pncclCommSplit", GW_ACTION_COMM_SPLIT},
    {"ncclCommShrink", GW_ACTION_COMM_SHRINK},
    {"pncclCommShrink", GW_ACTION_COMM_SHRINK},
    {"ncclGroupStart", GW_ACTION_GROUP_START},
    {"pncclGroupStart", GW_ACTION_GROUP_START},
    {"ncclGroupEnd", GW_ACTION_GROUP_END},
    {"pncclGroupEnd", GW_ACTION_GROUP_END},
};

static bool is_capturing(const struct gw_info *info, uint64_t raw_stream)
{
    const struct gw_driver *driver = gw_driver();
    int status = 0;

    if (!driver || !driver->cuStreamIsCapturing)
        return false;
    // On the legacy stream, while a blocking stream of the context captures, this is documented to fail without
    // breaking the capture: then nothing may be recorded on it either.
    int error = info->per_thread && driver->cuStreamIsCapturing_ptsz
                    ? driver->cuStreamIsCapturing_ptsz(raw_stream, &status)
                    : driver->cuStreamIsCapturing(raw_stream, &status);
    return error != 0 || status != 0;
}

// Finds the stream and number of an operation. Returns whether it goes to the device, not into a graph.
static bool place_operation(struct gw_thread *thread, struct gw_call *call, const struct gw_info *info,
                            const uint64_t *words)
{
    uint64_t raw = gw_form_stream(info->form, words);

    call->stream = gw_stream_get(thread, raw, info->per_thread);
    if (__builtin_expect(__atomic_load_n(&gw_tracer.captures, __ATOMIC_RELAXED) > 0, 0) && is_capturing(info, raw)) {
        call->flags |= GW_SITE_CAPTURED;
        return false;
    }
    if (thread->op_index < GW_SITE_OP_INDEX)
        thread->op_index++;
    call->flags |= thread->op_index;
    return true;
}

static void begin_operation(struct gw_thread *thread, struct gw_call *call, const struct gw_info *info,
                            const uint64_t *words)
{
    const struct gw_timing_ops *timing = __atomic_load_n(&gw_tracer.timing, __ATOMIC_ACQUIRE);
    struct gw_section section;

    if (place_operation(thread, call, info, words) && timing && call->stream && gw_window_is_on()) {
        gw_section_begin(&section);
        thread->timed = call;
        call->op = timing->before(call->stream);
        gw_section_end(&section);
    }
}

static inline void begin_call_id(struct gw_thread *thread)
{
    thread->call = GW_CALL_ID(thread->tid, ++thread->sequence);
    thread->typed = 0;
    thread->op_index = 0;
    thread->written = 0;
    if (__builtin_expect(thread->notes_seen != __atomic_load_n(&gw_tracer.host->notes->changes, __ATOMIC_RELAXED), 0)) {
        struct gw_section section;

        gw_section_begin(&section);
        gw_process_notes(thread);
        gw_section_end(&section);
    }
}

// A thread's first call, in this process. Returns false when another thread is waking a forked child.
static bool enter(struct gw_thread *thread)
{
    struct gw_section section;
    bool awake;

    gw_section_begin(&section);
    awake = gw_fork_wake();
    if (awake)
        gw_thread_enter(thread);
    gw_section_end(&section);
    if (awake && thread->depth > 0) // within a call that was entered before the tracer was there, or before a fork
        begin_call_id(thread);
    return awake;
}

// What the tool does before calls that are no operations, but mean something to it.
static void prepare_for(enum gw_action action, unsigned function)
{
    const struct gw_timing_ops *timing = __atomic_load_n(&gw_tracer.timing, __ATOMIC_ACQUIRE);
    struct gw_section section;

    gw_section_begin(&section);
    if (action == GW_ACTION_CONTEXT_END && timing)
        timing->pause();
    else if ((action == GW_ACTION_CONTEXT_NEW || action == GW_ACTION_CONTEXT_RETAIN) && timing && timing->prepare)
        timing->prepare();
    else if (action == GW_ACTION_CUPTI_CLAIM && timing && timing->give_way)
        timing->give_way(gw_function_name(function));
    else if (action == GW_ACTION_CAPTURE_BEGIN)
        __atomic_fetch_add(&gw_tracer.captures, 1, __ATOMIC_RELAXED);
    gw_section_end(&section);
}

static inline bool is_measured(struct gw_thread *thread)
{
    if (__builtin_expect(++thread->own_time < GW_OWN_TIME_EVERY, 1))
        return false;
    thread->own_time = 0;
    return true;
}

// A signal handler of the program's calls CUDA where it interrupted the tool. (The tool's own threads never enter.)
__attribute__((noinline, cold)) static bool suppress(struct gw_thread *thread)
{
    if (thread->generation == gw_tracer.generation) {
        __atomic_fetch_add(&gw_tracer.suppressed, 1, __ATOMIC_RELAXED);
        thread->notes_seen = __atomic_load_n(&gw_tracer.host->notes->changes, __ATOMIC_RELAXED) - 1; // to be told
    }
    return false;
}

static bool begin_call(struct gw_thread *thread, struct gw_call *call, unsigned function, const uint64_t *words)
{
    const struct gw_info *info = &gw_tracer.info[function];
    int saved_errno;

    if (__builtin_expect(thread->busy, 0))
        return suppress(thread);
    thread->busy = 1;
    saved_errno = errno;
    call->unwritten = __builtin_expect(gw_steps_counted, 0) && gw_steps_are_off();
    uint64_t measured_at_ns = is_measured(thread) && !call->unwritten ? gw_now_ns() : 0;
    if (__builtin_expect(thread->generation != gw_tracer.generation, 0) && !enter(thread)) {
        errno = saved_errno;
        thread->busy = 0;
        return false;
    }
    if (thread->depth == 0)
        begin_call_id(thread);
    call->function = (uint16_t)function;
    call->op = NULL;
    call->stream = NULL;
    call->flags = 0;
    call->depth = ++thread->depth;
    if (__builtin_expect(info->driver_op, 0))
        begin_operation(thread, call, info, words);
    else if (__builtin_expect(info->action != GW_ACTION_NONE, 0))
        prepare_for(info->action, function);

    uint64_t now = gw_clock_read(&thread->clock);

    if (call->depth == 1) {
        if (now - thread->last_begin_ns > gw_tracer.gap_threshold_ns && !call->unwritten)
            gw_thread_gap(thread, now);
        else if (now - thread->cpu_at_ns > CPU_READING_MAX_AGE_NS)
            gw_thread_read_cpu(thread, now);
        thread->last_begin_ns = now;
        if (info->blocks && !call->unwritten) {
            call->flags |= GW_SITE_HAS_BEGIN;
            gw_write_begin(thread, call);
        }
    }
    call->begin_ns = now;
    call->left_ns = 0;
    call->own_ns = measured_at_ns ? gw_own_time_since(measured_at_ns) : 0;
    errno = saved_errno;
    thread->busy = 0;
    return true;
}

static void act(struct gw_thread *thread, const struct gw_call *call, enum gw_action action, const uint64_t *words,
                int32_t result)
{
    const int capture_invalidated = 901, capture_unjoined = 904;

    switch (action) {
    case GW_ACTION_STREAM_CREATE:
        if (result == 0 && words[0])
            gw_stream_created(*(const uint64_t *)words[0], (uint32_t)words[1]);
        break;
    case GW_ACTION_STREAM_DESTROY:
        if (result == 0)
            gw_stream_destroyed(words[0]);
        break;
    case GW_ACTION_CAPTURE_BEGIN:
        if (result != 0)
            __atomic_fetch_sub(&gw_tracer.captures, 1, __ATOMIC_RELAXED);
        break;
    case GW_ACTION_CAPTURE_END:
        // Other errors leave the capture as it was.
        if (result == 0 || result == capture_invalidated || result == capture_unjoined)
            __atomic_fetch_sub(&gw_tracer.captures, 1, __ATOMIC_RELAXED);
        break;
    case GW_ACTION_CONTEXT_NEW:
        if (result == 0 && words[0])
            gw_context_created(*(const uint64_t *)words[0]);
        break;
    case GW_ACTION_CONTEXT_RETAIN:
        if (result == 0)
            gw_device_opened((int)words[1]);
        break;
    case GW_ACTION_CONTEXT_END:
        gw_contexts_ended(call->function, words[0], result);
        if (gw_tracer.timing)
            gw_tracer.timing->resume();
        break;
    case GW_ACTION_COMM_INIT_RANK:
    case GW_ACTION_COMM_INIT_SCALABLE:
    case GW_ACTION_COMM_INIT_ALL:
    case GW_ACTION_COMM_SPLIT:
    case GW_ACTION_COMM_SHRINK:
    case GW_ACTION_GROUP_START:
    case GW_ACTION_GROUP_END:
        gw_communicators_made(thread, action, words, result);
        break;
    case GW_ACTION_CUPTI_CLAIM:
        break;
    default:
        if (action != GW_ACTION_NONE && result == 0)
            gw_functions_named(action, words);
        break;
    }
}

// The end of a call that only asks for what is known. Returns false when it is to be recorded: it failed or took long,
// or an event refers to it.
static bool count_call(struct gw_thread *thread, const struct gw_call *call, unsigned asks, int32_t result)
{
    uint64_t measured_at_ns = call->own_ns ? gw_now_ns() : 0, now = gw_clock_read(&thread->clock);

    if (result != 0 || now - call->begin_ns > GW_TALLY_LONGEST_NS || call->unwritten ||
        (call->depth == 1 && thread->written) || !gw_tally_add(thread, call, asks, now))
        return false;
    if (--thread->depth == 0)
        thread->last_ticks = gw_ticks();
    if (measured_at_ns)
        gw_own_time_add(call->own_ns + gw_own_time_since(measured_at_ns));
    return true;
}

static void end_call(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result)
{
    const struct gw_info *info = &gw_tracer.info[call->function];
    struct gw_section section;

    if (__builtin_expect(thread->generation != gw_tracer.generation, 0)) { // forked within the call
        thread->depth--;
        return;
    }
    thread->busy = 1;
    if (__builtin_expect(info->asks, 0) && count_call(thread, call, info->asks, result)) {
        thread->busy = 0;
        return;
    }
    uint64_t measured_at_ns = call->own_ns ? gw_now_ns() : 0;
    if (call->left_ns)
        call->own_ns += gw_own_time_since(call->left_ns);
    thread->leaving = NULL;
    gw_section_begin(&section);
    thread->timed = NULL;
    if (__builtin_expect(info->action != GW_ACTION_NONE, 0))
        act(thread, call, info->action, words, result);
    if (result != 0 && info->driver_op && (call->flags & GW_SITE_OP_INDEX)) {
        call->flags &= (uint8_t)~GW_SITE_OP_INDEX;
        thread->op_index--;
    }
    if (__builtin_expect(!call->stream, 0) && info->driver_op && (call->flags & GW_SITE_OP_INDEX) && gw_tracer.timing)
        __atomic_fetch_add(&gw_tracer.streamless, 1, __ATOMIC_RELAXED);
    // A copy's end is marked on its stream before its bytes are looked at; for the others the host's time comes first.
    bool timed = call->op && gw_tracer.timing; // a fork inside the call turned timing off
    bool early = timed && info->form->kind == GW_KIND_COPY;
    if (early)
        gw_tracer.timing->after(call->op, thread, call, words, result);
    if (__builtin_expect(!call->unwritten, 1))
        gw_write_call(thread, call, words, result);
    if (timed && !early)
        gw_tracer.timing->after(call->op, thread, call, words, result);

    if (--thread->depth == 0) {
        // Copies of pageable memory wait as well, whatever their names say.
        if (info->blocks || (info->form && info->form->kind == GW_KIND_COPY)) {
            uint64_t now = gw_now_ns();

            if (now - call->begin_ns > gw_tracer.gap_threshold_ns)
                gw_thread_read_cpu(thread, now);
        }
        thread->last_ticks = gw_ticks();
    }
    if (measured_at_ns)
        gw_own_time_add(call->own_ns + gw_own_time_since(measured_at_ns));
    gw_section_end(&section);
    thread->busy = 0;
}

// The end of a call that the shim began, before the tracer was there. It has no times on the device.
static void end_early_call(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result)
{
    const struct gw_info *info = &gw_tracer.info[call->function];
    int saved_errno = errno;
    bool entered = true;

    thread->busy = 1;
    call->unwritten = gw_steps_counted && gw_steps_are_off();
    if (thread->generation != gw_tracer.generation)
        entered = enter(thread);
    // What its beginning would have done, but for claims and contexts that are made by now.
    if (entered && info->driver_op && result == 0)
        place_operation(thread, call, info, words);
    else if (entered && (info->action == GW_ACTION_CONTEXT_END || info->action == GW_ACTION_CAPTURE_BEGIN))
        prepare_for(info->action, call->function);
    thread->busy = 0;
    errno = saved_errno;
    if (entered)
        end_call(thread, call, words, result);
    else
        thread->depth--;
}

enum { WATCHED = 1, MAY_BE_MARK = 2 };
static uint8_t watched[GW_FUNCTION_COUNT];

// The same while steps are counted, which does not end where nothing is recorded.
static bool begin_by_steps(struct gw_thread *thread, struct gw_call *call, unsigned function, const uint64_t *words)
{
    const struct gw_info *info = &gw_tracer.info[function];

    if (thread->busy)
        return gw_steps_are_off() ? false : suppress(thread);
    gw_steps_before(thread, info, words);
    // A thread's first call, which may be a forked process's, makes it known in any case.
    if (watched[function] != WATCHED && gw_steps_are_off() && thread->generation == gw_tracer.generation)
        return false;
    if (!begin_call(thread, call, function, words))
        return false;
    gw_steps_begun(thread, info, call);
    return true;
}

static void end_by_steps(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result)
{
    int saved_errno = errno;

    end_call(thread, call, words, result);
    gw_steps_ended(thread);
    errno = saved_errno;
}

static struct gw_sink sink = {.watched = watched,
                              .begin = begin_call,
                              .end = end_call,
                              .end_early = end_early_call,
                              .attach_nvtx = gw_nvtx_attach,
                              .close = gw_descriptor_close,
                              .displace = gw_descriptor_displace};

void gw_tracer_record_as_told(void)
{
    // The session turns all events of the provider on and off together: one of them speaks for all.
    const int *steps = gw_steps_switch();

    __atomic_store_n(&sink.recording, steps ? steps : &lttng_ust_tracepoint_gpuwitness___call.state, __ATOMIC_RELAXED);
}

void gw_tracer_record_first_call(void)
{
    static const int always = 1;

    __atomic_store_n(&sink.recording, &always, __ATOMIC_RELAXED);
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;

    return text && *text && !*end ? value : otherwise;
}

static void fill_info(void)
{
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++) {
        const struct gw_function *row = gw_function_row(id);
        struct gw_info *info = &gw_tracer.info[id];

        info->form = gw_form_of(id);
        info->blocks = row->wait == GW_WAIT_BLOCKS;
        info->is_driver = row->api == GW_API_DRV;
        info->driver_op = info->form && info->is_driver ? info->form->op : 0;
        info->per_thread = row->stream_mode == GW_STREAM_MODE_PER_THREAD;
    }
    for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        for (unsigned id = gw_function_first(actions[i].base);
             id < GW_FUNCTION_COUNT && strcmp(gw_function_row(id)->base, actions[i].base) == 0; id++) {
            gw_tracer.info[id].action = (uint8_t)actions[i].action;
            watched[id] = WATCHED;
        }
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++)
        if (gw_function_row(id)->api == GW_API_CUPTI) { // only functions that claim it have rows
            gw_tracer.info[id].action = GW_ACTION_CUPTI_CLAIM;
            watched[id] = WATCHED;
        }
}

static void count_steps(void)
{
    if (!gw_steps_init())
        return;
    sink.begin = begin_by_steps;
    sink.end = end_by_steps;
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++) {
        const struct gw_info *info = &gw_tracer.info[id];

        if (!watched[id] && info->is_driver && info->form && info->form->kind == GW_KIND_LAUNCH)
            watched[id] = MAY_BE_MARK;
    }
}

__attribute__((visibility("default"))) const struct gw_sink *gw_tracer_start(const struct gw_host *host);

const struct gw_sink *gw_tracer_start(const struct gw_host *host)
{
    const char *hash = getenv("GPUWITNESS_HASH");
    const char *timing = getenv("GPUWITNESS_GPU_TIMING");
    const char *queries = getenv("GPUWITNESS_QUERIES");

    if (host->version != GW_SINK_VERSION || strcmp(host->functions_mark, GW_FUNCTIONS_MARK) != 0)
        return NULL;
    gw_forms_init();
    gw_tracer.host = host;
    gw_tracer.pid = (uint32_t)getpid();
    gw_tracer.generation = 1;
    gw_clock_init();
    gw_tracer.base_ns = gw_now_ns();
    gw_tracer.base_ticks = gw_ticks();
    gw_own_time_init();
    gw_window_init(getenv("GPUWITNESS_TIMING_WINDOW"));
    gw_tracer.gap_threshold_ns = 1000 * number_from_environment("GPUWITNESS_GAP_US", 20);
    gw_tracer.hash = !hash || strcmp(hash, "sample") == 0 ? GW_HASH_SAMPLE
                     : strcmp(hash, "full") == 0          ? GW_HASH_FULL
                                                          : GW_HASH_OFF;
    if (timing && strcmp(timing, "events") == 0)
        gw_tracer.timing = gw_timing_events_start();
    else if (!timing || strcmp(timing, "off") != 0)
        gw_tracer.timing = gw_timing_cupti_start(timing && strcmp(timing, "cupti") == 0);
    fill_info();
    if (queries && strcmp(queries, "count") == 0)
        gw_tally_init();
    count_steps();
    gw_fork_init();
    lttng_ust_init_thread();
    gw_tracer_record_as_told();
    gw_process_enter();
    gw_process_notes(host->thread());
    return &sink;
}
