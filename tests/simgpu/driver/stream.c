// Streams: handles, order among them, waiting.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/internal.h"

static unsigned last_number;
// Ids of legacy and per-thread streams must differ from those of created ones, which are their numbers.
#define LEGACY_ID_BASE ((uint64_t)1 << 32)

void stream_init_legacy(struct CUctx_st *context)
{
    struct CUstream_st *stream = &context->legacy;
    stream->magic = MAGIC_STREAM;
    stream->kind = STREAM_LEGACY;
    stream->context = context;
    stream->id = LEGACY_ID_BASE + context->id;
}

static struct CUstream_st *stream_new(struct CUctx_st *context, enum stream_kind kind, unsigned flags, int priority)
{
    struct CUstream_st *stream = object_new(MAGIC_STREAM, sizeof *stream);
    stream->kind = kind;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->number = ++last_number;
    stream->id = stream->number;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

static struct CUstream_st *per_thread_stream(struct CUctx_st *context)
{
    const uint64_t serial = thread_serial();
    for (struct CUstream_st *stream = context->streams; stream; stream = stream->next) {
        if (stream->kind == STREAM_PER_THREAD && stream->thread == serial)
            return stream;
    }
    struct CUstream_st *stream = stream_new(context, STREAM_PER_THREAD, CU_STREAM_DEFAULT, 0);
    stream->thread = serial;
    return stream;
}

CUresult stream_get(CUstream handle, CUstream otherwise, struct CUstream_st **ret_stream)
{
    struct CUctx_st *context = context_current();
    if (!handle)
        handle = otherwise;
    if (handle == CU_STREAM_LEGACY)
        *ret_stream = &context->legacy;
    else if (handle == CU_STREAM_PER_THREAD)
        *ret_stream = per_thread_stream(context);
    else if (IS(handle, MAGIC_STREAM) && IS(handle->context, MAGIC_CONTEXT))
        *ret_stream = handle;
    else
        return CUDA_ERROR_INVALID_HANDLE;
    return (*ret_stream)->context->lost;
}

static bool is_blocking(const struct CUstream_st *stream)
{
    return stream->kind != STREAM_LEGACY && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

static void after_stream(struct CUstream_st *stream, struct op *op)
{
    op_after(op, stream->last, CAUSE_STREAM);
    if (stream->kind == STREAM_LEGACY) {
        for (struct CUstream_st *other = stream->context->streams; other; other = other->next) {
            if (is_blocking(other) && !other->capture)
                op_after(op, other->last, CAUSE_LEGACY);
        }
    } else if (is_blocking(stream)) {
        op_after(op, stream->context->legacy.last, CAUSE_LEGACY);
    }
}

void stream_order(struct CUstream_st *stream, struct op *op)
{
    after_stream(stream, op);
    op_unref(stream->last);
    stream->last = op_ref(op);
}

struct op *stream_tail(struct CUstream_st *stream)
{
    if (stream->kind != STREAM_LEGACY)
        return stream->last ? op_ref(stream->last) : NULL;
    struct op *tail = op_create(OP_MARKER, stream->context->device, stream->number);
    tail->submit_ns = tail->latency_ns = 0;
    after_stream(stream, tail);
    op_commit(tail);
    return tail;
}

CUresult stream_not_capturing(struct CUstream_st *stream)
{
    if (stream->capture)
        return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (stream->kind == STREAM_LEGACY)
        return capture_forbids_legacy(stream->context);
    return CUDA_SUCCESS;
}

static CUresult create(CUstream *ret_stream, unsigned flags, int priority)
{
    if (!ret_stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    const int least = 0, greatest = -5;
    priority = priority > least ? least : priority < greatest ? greatest : priority;
    *ret_stream = stream_new(context_current(), STREAM_CREATED, flags, priority);
    return CUDA_SUCCESS;
}

// The stream's pending work goes on without it.
static void stream_delete(struct CUstream_st *stream)
{
    struct CUctx_st *context = stream->context;
    capture_drop_stream(stream);
    for (struct CUstream_st **place = &context->streams; *place; place = &(*place)->next) {
        if (*place == stream) {
            *place = stream->next;
            break;
        }
    }
    if (!op_complete(stream->last)) {
        struct op *join = op_create(OP_MARKER, context->device, stream->number);
        join->submit_ns = join->latency_ns = 0;
        op_after(join, context->orphans, CAUSE_STREAM);
        op_after(join, stream->last, CAUSE_STREAM);
        op_unref(context->orphans);
        context->orphans = op_ref(join);
        op_commit(join);
        op_unref(join);
    }
    op_unref(stream->last);
    object_free(stream, sizeof *stream);
}

void streams_delete_all(struct CUctx_st *context)
{
    while (context->streams)
        stream_delete(context->streams);
    capture_drop_stream(&context->legacy);
    op_unref(context->legacy.last);
    context->legacy.last = NULL;
}

static CUresult destroy(CUstream handle)
{
    if (!IS(handle, MAGIC_STREAM) || handle->kind != STREAM_CREATED)
        return CUDA_ERROR_INVALID_HANDLE;
    stream_delete(handle);
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream handle, CUstream otherwise)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || (result = stream_not_capturing(stream)))
        return result;
    struct CUctx_st *context = stream->context;
    struct op *tail = stream_tail(stream);
    op_wait(tail);
    op_unref(tail);
    return IS(context, MAGIC_CONTEXT) ? context->lost : CUDA_SUCCESS;
}

static CUresult query(CUstream handle, CUstream otherwise)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || (result = stream_not_capturing(stream)))
        return result;
    struct op *tail = stream_tail(stream);
    result = op_complete(tail) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    op_unref(tail);
    return result;
}

ENTRY(NEED_CONTEXT, cuStreamCreate, (CUstream * phStream, unsigned Flags), create(phStream, Flags, 0))
ENTRY(NEED_CONTEXT, cuStreamCreateWithPriority, (CUstream * phStream, unsigned flags, int priority),
      create(phStream, flags, priority))
ENTRY(NEED_INIT, cuStreamDestroy, (CUstream hStream), destroy(hStream))
ENTRY(NEED_INIT, cuStreamDestroy_v2, (CUstream hStream), destroy(hStream))
ENTRY_STREAM(NEED_CONTEXT, cuStreamSynchronize, _ptsz, (CUstream hStream), synchronize(hStream, default_stream))
ENTRY_STREAM(NEED_CONTEXT, cuStreamQuery, _ptsz, (CUstream hStream), query(hStream, default_stream))

// Reads one property of a stream into *(value): `expression` of `stream`.
#define GETTER(name, type, expression)                                                                                 \
    static CUresult name(CUstream handle, CUstream otherwise, type *value)                                             \
    {                                                                                                                  \
        struct CUstream_st *stream;                                                                                    \
        const CUresult result = stream_get(handle, otherwise, &stream);                                                \
        if (result || !value)                                                                                          \
            return result ? result : CUDA_ERROR_INVALID_VALUE;                                                         \
        *value = (expression);                                                                                         \
        return CUDA_SUCCESS;                                                                                           \
    }

GETTER(get_priority, int, stream->priority)
GETTER(get_flags, unsigned, stream->flags)
GETTER(get_id, unsigned long long, stream->id)
GETTER(get_context, CUcontext, stream->context)
GETTER(get_device, CUdevice, (CUdevice)stream->context->device->index)

static CUresult get_context_v2(CUstream handle, CUstream otherwise, CUcontext *context, CUgreenCtx *green)
{
    if (green)
        *green = NULL;
    return get_context(handle, otherwise, context);
}

ENTRY_STREAM(NEED_CONTEXT, cuStreamGetPriority, _ptsz, (CUstream hStream, int *priority),
             get_priority(hStream, default_stream, priority))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetFlags, _ptsz, (CUstream hStream, unsigned *flags),
             get_flags(hStream, default_stream, flags))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetId, _ptsz, (CUstream hStream, unsigned long long *streamId),
             get_id(hStream, default_stream, streamId))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetCtx, _ptsz, (CUstream hStream, CUcontext *pctx),
             get_context(hStream, default_stream, pctx))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetCtx_v2, _ptsz, (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx),
             get_context_v2(hStream, default_stream, pCtx, pGreenCtx))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetDevice, _ptsz, (CUstream hStream, CUdevice *device),
             get_device(hStream, default_stream, device))

static CUresult attribute(CUstream handle, CUstream otherwise, CUstreamAttrID id, CUstreamAttrValue *get,
                          const CUstreamAttrValue *set)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result)
        return result;
    const unsigned slot = (unsigned)id;
    if (slot >= sizeof stream->attributes / sizeof *stream->attributes || (!get && !set))
        return CUDA_ERROR_INVALID_VALUE;
    if (set)
        stream->attributes[slot] = *set;
    else
        *get = stream->attributes[slot];
    return CUDA_SUCCESS;
}

static CUresult copy_attributes(CUstream to_handle, CUstream from_handle, CUstream otherwise)
{
    struct CUstream_st *to, *from;
    CUresult result = stream_get(to_handle, otherwise, &to);
    if (result || (result = stream_get(from_handle, otherwise, &from)))
        return result;
    memcpy(to->attributes, from->attributes, sizeof to->attributes);
    return CUDA_SUCCESS;
}

ENTRY_STREAM(NEED_CONTEXT, cuStreamGetAttribute, _ptsz,
             (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out),
             attribute(hStream, default_stream, attr, value_out, NULL))
ENTRY_STREAM(NEED_CONTEXT, cuStreamSetAttribute, _ptsz,
             (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value),
             attribute(hStream, default_stream, attr, NULL, value))
ENTRY_STREAM(NEED_CONTEXT, cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src),
             copy_attributes(dst, src, default_stream))

static CUresult attach(CUstream handle, CUstream otherwise, unsigned flags)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result)
        return result;
    return flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

ENTRY_STREAM(NEED_CONTEXT, cuStreamAttachMemAsync, _ptsz,
             (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned flags),
             ((void)length, !dptr ? CUDA_ERROR_INVALID_VALUE : attach(hStream, default_stream, flags)))

// Host functions and callbacks.
struct callback {
    CUstreamCallback function;
    void *data;
    CUstream stream; // the handle the caller gave
};

static void run_callback(void *argument)
{
    struct callback *callback = argument;
    callback->function(callback->stream, CUDA_SUCCESS, callback->data);
    free(callback);
}

static CUresult add_callback(CUstream handle, CUstream otherwise, CUstreamCallback function, void *data, unsigned flags)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || !function || flags)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if ((result = stream_not_capturing(stream)))
        return result;
    struct callback *callback = malloc(sizeof *callback);
    if (!callback)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *callback = (struct callback){function, data, handle};
    const struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {run_callback, callback}};
    return work_enqueue(&work, stream);
}

static CUresult launch_host(CUstream handle, CUstream otherwise, CUhostFn function, void *data)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result || !function)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    const struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {function, data}};
    return work_enqueue(&work, stream);
}

ENTRY_STREAM(NEED_CONTEXT, cuStreamAddCallback, _ptsz,
             (CUstream hStream, CUstreamCallback callback, void *userData, unsigned flags),
             add_callback(hStream, default_stream, callback, userData, flags))
ENTRY_STREAM(NEED_CONTEXT, cuLaunchHostFunc, _ptsz, (CUstream hStream, CUhostFn fn, void *userData),
             launch_host(hStream, default_stream, fn, userData))
