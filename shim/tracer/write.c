// Writes the event of a call that ended: a typed one from the innermost call that has the arguments, else a plain one.
#include "shim/tracer/driver.h"
#include "shim/tracer/events.h"
#include "shim/tracer/objects.h"
#include "shim/tracer/tracer.h"

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf puts abort exit

struct writing {
    struct gw_thread *thread;
    const struct gw_call *call;
    const struct gw_info *info;
    const uint64_t *words;
    uint64_t head[4]; // begin, call, site, result
    int32_t result;
};

#define HEAD(w) (w)->head[0], (w)->head[1], (w)->head[2], (w)->head[3]

static uint64_t stream_of(const struct writing *w)
{
    if (w->call->stream)
        return w->call->stream->handle;
    return gw_stream_event_handle(w->thread, gw_form_stream(w->info->form, w->words), w->info->per_thread);
}

static void write_launch(const struct writing *w)
{
    struct gw_launch launch;

    gw_decode_launch(w->info->form, w->words, &launch);
    const uint64_t words[] = {HEAD(w), launch.func, stream_of(w), launch.grid, launch.block};
    lttng_ust_tracepoint(gpuwitness, launch, words);
}

static uint8_t direction_of_kinds(enum gw_host_kind src, enum gw_host_kind dst)
{
    bool from_device = src == GW_HOST_NOT || src == GW_HOST_MANAGED,
         to_device = dst == GW_HOST_NOT || dst == GW_HOST_MANAGED;

    if (from_device)
        return to_device ? GW_COPY_D2D : GW_COPY_D2H;
    return to_device ? GW_COPY_H2D : GW_COPY_H2H;
}

static void write_copy(const struct writing *w)
{
    struct gw_copy copy;
    uint64_t hash = 0;

    gw_decode_copy(w->info->form, w->words, &copy);
    enum gw_host_kind src = copy.src_kind == GW_HOST_UNKNOWN ? gw_host_kind_of(copy.src) : copy.src_kind;
    enum gw_host_kind dst = copy.dst_kind == GW_HOST_UNKNOWN ? gw_host_kind_of(copy.dst) : copy.dst_kind;
    uint8_t direction = copy.direction == 0xff ? direction_of_kinds(src, dst) : copy.direction;

    // The bytes of a copy to the host are there only when the call waited for them.
    if (w->result == 0 && copy.contiguous && direction == GW_COPY_H2D)
        hash = gw_hash_host(copy.src, copy.bytes, src);
    else if (w->result == 0 && copy.contiguous && direction == GW_COPY_D2H && w->info->form->blocking)
        hash = gw_hash_host(copy.dst, copy.bytes, dst);
    const uint64_t words[] = {HEAD(w),    copy.dst,     copy.src,
                              copy.bytes, stream_of(w), GW_COPY_HOW(direction, src, dst, w->info->form->blocking),
                              hash};
    lttng_ust_tracepoint(gpuwitness, copy, words);
}

static void write_memset(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    uint64_t rows = form->c >= 0 ? w->words[form->c] : 1;
    const uint64_t words[] = {HEAD(w), w->words[form->a], w->words[form->b] * rows * (uint64_t)form->d, stream_of(w)};

    lttng_ust_tracepoint(gpuwitness, memset, words);
}

static void write_memory(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    uint64_t rows = form->c >= 0 ? w->words[form->c] : 1;
    const uint64_t words[] = {HEAD(w), gw_form_value(form, w->words, 0, w->result == 0),
                              gw_form_value(form, w->words, 1, false) * rows,
                              form->stream == GW_WORD_NONE ? 0 : stream_of(w), form->code};

    lttng_ust_tracepoint(gpuwitness, memory, words);
}

static void write_order(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    uint64_t event = gw_form_value(form, w->words, 0, w->result == 0), stream = 0;

    if (form->code == GW_ORDER_STREAM_CREATE) {
        stream = event;
        event = 0;
    } else if (form->stream != GW_WORD_NONE) {
        // A destroyed stream is not looked for: that would make it known again.
        stream = form->code == GW_ORDER_STREAM_DESTROY ? gw_form_stream(form, w->words) : stream_of(w);
    }
    const uint64_t words[] = {HEAD(w), stream, event, form->code, (uint32_t)gw_form_value(form, w->words, 1, false)};
    lttng_ust_tracepoint(gpuwitness, order, words);
}

static void write_module(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    const void *image = form->b >= 0 ? (const void *)w->words[form->b] : NULL, *start = image;
    uint64_t bytes = 0, hash = 0;

    if (w->result == 0 && image) {
        bytes = form->c >= 0 ? w->words[form->c] : gw_image_bytes(image, &start);
        hash = gw_hash_bytes(start, bytes);
    }
    lttng_ust_tracepoint(gpuwitness, module, w->head, gw_form_value(form, w->words, 0, w->result == 0),
                         GW_IMAGE(bytes, bytes ? gw_image_kind(start, bytes) : GW_IMAGE_UNKNOWN), hash);
}

static void write_graph(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    uint64_t graph = gw_form_value(form, w->words, 0, w->result == 0);
    uint64_t stream = form->stream == GW_WORD_NONE ? 0 : stream_of(w);
    uint32_t nodes = 0;

    // Only a graph that was made or instantiated just now is looked into: another one may be gone.
    if (w->result == 0 && form->out && graph)
        nodes = gw_graph_nodes(graph);
    lttng_ust_tracepoint(gpuwitness, graph, w->head, graph, gw_form_value(form, w->words, 1, w->result == 0), stream,
                         nodes);
}

static void write_comm(const struct writing *w)
{
    const struct gw_form *form = w->info->form;
    uint64_t reduction = form->d >= 0 ? w->words[form->d] : 0;
    uint64_t rank = form->root >= 0 ? w->words[form->root] : 0;
    const bool has_two = form->b > 1; // the count stands behind the buffers
    uint64_t send = form->code == GW_COMM_RECV ? 0 : w->words[0];
    uint64_t recv = form->code == GW_COMM_SEND ? 0 : w->words[has_two];

    lttng_ust_tracepoint(gpuwitness, comm, w->head, w->words[form->a], w->words[form->b],
                         GW_COMM_WHAT(form->code, w->words[form->c], reduction, rank),
                         gw_stream_event_handle(w->thread, gw_form_stream(form, w->words), false), send, recv);
}

void gw_write_begin(struct gw_thread *thread, const struct gw_call *call)
{
    const uint64_t entry[] = {thread->call, GW_SITE(gw_tracer.pid, call->function, call->depth, call->flags)};
    struct gw_section section;

    thread->written = 1;
    gw_section_begin(&section);
    lttng_ust_tracepoint(gpuwitness, call_begin, entry);
    gw_section_end(&section);
}

void gw_write_call(struct gw_thread *thread, const struct gw_call *call, const uint64_t *words, int32_t result)
{
    const struct gw_info *info = &gw_tracer.info[call->function];
    const struct writing w = {.thread = thread,
                              .call = call,
                              .info = info,
                              .words = words,
                              .head = {call->begin_ns, thread->call,
                                       GW_SITE(gw_tracer.pid, call->function, call->depth, call->flags),
                                       (uint32_t)result},
                              .result = result};

    thread->written = 1;
    if (info->form && info->form->kind == GW_KIND_COMM) { // whatever calls of the driver it made
        write_comm(&w);
        return;
    }
    // Runtime calls leave the arguments to the driver calls they made.
    if (!info->form || (!info->is_driver && thread->typed)) {
        lttng_ust_tracepoint(gpuwitness, call, w.head);
        return;
    }
    thread->typed = 1;
    switch (info->form->kind) {
    case GW_KIND_LAUNCH:
        write_launch(&w);
        break;
    case GW_KIND_COPY:
        write_copy(&w);
        break;
    case GW_KIND_MEMSET:
        write_memset(&w);
        break;
    case GW_KIND_MEMORY:
        write_memory(&w);
        break;
    case GW_KIND_ORDER:
        write_order(&w);
        break;
    case GW_KIND_MODULE:
        write_module(&w);
        break;
    case GW_KIND_GRAPH:
        write_graph(&w);
        break;
    default:
        break;
    }
}
