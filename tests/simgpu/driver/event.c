// Events: records, waits, times.
#include "tests/simgpu/driver/internal.h"

#define KNOWN_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

static CUresult create(CUevent *ret_event, unsigned flags)
{
    if (!ret_event || (flags & ~(unsigned)KNOWN_FLAGS) ||
        ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    struct CUevent_st *event = object_new(MAGIC_EVENT, sizeof *event);
    event->context = context_current();
    event->flags = flags;
    *ret_event = event;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
    if (!IS(event, MAGIC_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    capture_drop_event(event);
    op_unref(event->op);
    object_free(event, sizeof *event);
    return CUDA_SUCCESS;
}

CUresult event_record(struct CUevent_st *event, struct CUstream_st *stream, unsigned flags)
{
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
        return capture_record_event(event, stream, flags);
    if (stream->kind == STREAM_LEGACY) {
        const CUresult result = capture_forbids_legacy(stream->context);
        if (result)
            return result;
    }
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    capture_drop_event(event);
    op_unref(event->op);
    event->op = op_create(OP_MARKER, stream->context->device, stream->number);
    stream_order(stream, event->op);
    op_commit(event->op);
    return CUDA_SUCCESS;
}

CUresult event_wait(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)
{
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture || capture_of_event(event))
        return capture_wait_event(stream, event, flags);
    if (!event->op)
        return CUDA_SUCCESS;
    struct op *join = op_create(OP_MARKER, stream->context->device, stream->number);
    join->submit_ns = join->latency_ns = 0;
    op_after(join, event->op, CAUSE_EVENT);
    stream_order(stream, join);
    op_commit(join);
    op_unref(join);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream handle, CUstream otherwise, unsigned flags)
{
    struct CUstream_st *stream;
    if (!IS(event, MAGIC_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = stream_get(handle, otherwise, &stream);
    return result ? result : event_record(event, stream, flags);
}

static CUresult wait_event(CUstream handle, CUstream otherwise, CUevent event, unsigned flags)
{
    struct CUstream_st *stream;
    if (!IS(event, MAGIC_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = stream_get(handle, otherwise, &stream);
    return result ? result : event_wait(stream, event, flags);
}

static CUresult check(CUevent event)
{
    if (!IS(event, MAGIC_EVENT) || !IS(event->context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (capture_of_event(event))
        return capture_invalidate(event->capture, CUDA_ERROR_CAPTURED_EVENT);
    return event->context->lost;
}

static CUresult query(CUevent event)
{
    const CUresult result = check(event);
    return result ? result : op_complete(event->op) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult synchronize(CUevent event)
{
    const CUresult result = check(event);
    if (result)
        return result;
    op_wait(event->op);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ret_ms, CUevent start, CUevent end)
{
    CUresult result;
    if (!ret_ms)
        return CUDA_ERROR_INVALID_VALUE;
    if ((result = check(start)) || (result = check(end)))
        return result;
    if (start->context->device != end->context->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->op || !end->op || (start->flags & CU_EVENT_DISABLE_TIMING) || (end->flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!op_complete(start->op) || !op_complete(end->op))
        return CUDA_ERROR_NOT_READY;
    *ret_ms = (float)((double)(int64_t)(end->op->end_ns - start->op->end_ns) / 1e6);
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuEventCreate, (CUevent * phEvent, unsigned Flags), create(phEvent, Flags))
ENTRY(NEED_INIT, cuEventDestroy, (CUevent hEvent), destroy(hEvent))
ENTRY(NEED_INIT, cuEventDestroy_v2, (CUevent hEvent), destroy(hEvent))
ENTRY_STREAM(NEED_CONTEXT, cuEventRecord, _ptsz, (CUevent hEvent, CUstream hStream),
             record(hEvent, hStream, default_stream, 0))
ENTRY_STREAM(NEED_CONTEXT, cuEventRecordWithFlags, _ptsz, (CUevent hEvent, CUstream hStream, unsigned flags),
             record(hEvent, hStream, default_stream, flags))
ENTRY_STREAM(NEED_CONTEXT, cuStreamWaitEvent, _ptsz, (CUstream hStream, CUevent hEvent, unsigned Flags),
             wait_event(hStream, default_stream, hEvent, Flags))
// Unsafe, as watchdog threads found: a capture in global mode breaks when another thread asks for any event.
ENTRY(NEED_INIT | UNSAFE, cuEventQuery, (CUevent hEvent), query(hEvent))
ENTRY(NEED_INIT | UNSAFE, cuEventSynchronize, (CUevent hEvent), synchronize(hEvent))
ENTRY(NEED_INIT, cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
      elapsed(pMilliseconds, hStart, hEnd))
ENTRY(NEED_INIT, cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
      elapsed(pMilliseconds, hStart, hEnd))
