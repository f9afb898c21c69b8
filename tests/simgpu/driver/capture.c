// Stream capture: what would be put on a stream becomes nodes of a graph.
#include <stdlib.h>

#include "tests/simgpu/driver/graph.h"

struct capture {
    struct CUgraph_st *graph;
    bool owns_graph; // false: capturing to a graph the caller has
    CUstreamCaptureMode mode;
    bool is_invalid, has_ended;
    struct CUstream_st *origin;
    struct CUstream_st *streams; // all that take part
    uint64_t id, thread;
    unsigned refs; // itself while it goes on, and events recorded in it
    struct capture *next;
    struct node_set left; // last nodes of side streams destroyed meanwhile
};

static struct capture *captures; // those going on
static uint64_t last_id;

static void capture_unref(struct capture *capture)
{
    if (--capture->refs == 0)
        free(capture);
}

CUresult capture_invalidate(struct capture *capture, CUresult result)
{
    capture->is_invalid = true;
    return result;
}

CUresult capture_forbids_unsafe(void)
{
    const uint64_t thread = thread_serial();
    if (sim_thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (struct capture *capture = captures; capture; capture = capture->next) {
        if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        if (capture->thread == thread || (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                          sim_thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL))
            return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return CUDA_SUCCESS;
}

// A capture that work on the legacy stream of `context` would depend on.
static struct capture *capture_before_legacy(const struct CUctx_st *context)
{
    for (struct capture *capture = captures; capture; capture = capture->next) {
        for (const struct CUstream_st *stream = capture->streams; stream; stream = stream->next_in_capture) {
            if (stream->context == context && !(stream->flags & CU_STREAM_NON_BLOCKING))
                return capture;
        }
    }
    return NULL;
}

CUresult capture_forbids_legacy(const struct CUctx_st *context)
{
    struct capture *capture = capture_before_legacy(context);
    return capture ? capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) : CUDA_SUCCESS;
}

static void join(struct capture *capture, struct CUstream_st *stream)
{
    stream->capture = capture;
    stream->next_in_capture = capture->streams;
    capture->streams = stream;
}

CUresult capture_add(struct CUstream_st *stream, const struct work *work)
{
    struct CUgraphNode_st *node;
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    const CUresult result = graph_add(stream->capture->graph, work, stream->heads.nodes, stream->heads.count, &node);
    if (result)
        return capture_invalidate(stream->capture, result);
    node_set_clear(&stream->heads);
    node_set_add(&stream->heads, node);
    return CUDA_SUCCESS;
}

CUdeviceptr capture_last_alloc(const struct CUstream_st *stream)
{
    return stream->heads.nodes[0]->work.alloc.dptr;
}

struct capture *capture_of_event(struct CUevent_st *event)
{
    if (event->capture && event->capture->has_ended)
        capture_drop_event(event);
    return event->capture;
}

void capture_drop_event(struct CUevent_st *event)
{
    if (event->capture)
        capture_unref(event->capture);
    event->capture = NULL;
    node_set_clear(&event->heads);
}

CUresult capture_record_event(struct CUevent_st *event, struct CUstream_st *stream, unsigned flags)
{
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
        const struct work work = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
        return capture_add(stream, &work);
    }
    capture_drop_event(event);
    op_unref(event->op);
    event->op = NULL;
    event->capture = stream->capture;
    event->capture->refs++;
    for (size_t i = 0; i < stream->heads.count; i++)
        node_set_add(&event->heads, stream->heads.nodes[i]);
    return CUDA_SUCCESS;
}

CUresult capture_wait_event(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)
{
    struct capture *of_event = capture_of_event(event);
    if (stream->capture && stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && (flags & CU_EVENT_WAIT_EXTERNAL)) {
        const struct work work = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
        return capture_add(stream, &work);
    }
    if (!of_event) // and the stream is capturing
        return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (of_event->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != of_event) {
        of_event->is_invalid = true;
        return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (stream->kind == STREAM_LEGACY)
        return capture_invalidate(of_event, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!stream->capture)
        join(of_event, stream);
    for (size_t i = 0; i < event->heads.count; i++)
        node_set_add(&stream->heads, event->heads.nodes[i]);
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream handle, CUstream otherwise, CUstreamCaptureMode mode, CUgraph graph,
                      const CUgraphNode *heads, size_t head_count)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result || (unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if (stream->kind == STREAM_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < head_count; i++) {
        if (!IS(heads[i], MAGIC_NODE) || heads[i]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    struct capture *capture = malloc(sizeof *capture);
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *capture = (struct capture){.graph = graph ? graph : graph_new(),
                                .owns_graph = !graph,
                                .mode = mode,
                                .origin = stream,
                                .id = ++last_id,
                                .thread = thread_serial(),
                                .refs = 1,
                                .next = captures};
    captures = capture;
    join(capture, stream);
    for (size_t i = 0; i < head_count; i++)
        node_set_add(&stream->heads, heads[i]);
    return CUDA_SUCCESS;
}

static void visit(struct node_set *reached, struct CUgraphNode_st *node, uint64_t walk)
{
    if (node->visited != walk)
        node_set_add(reached, node);
    node->visited = walk;
}

// Whether every node the capture's other streams ended with leads to a head of the origin.
static bool is_joined(const struct capture *capture)
{
    static uint64_t walk;
    struct node_set open = {0};
    walk++;
    for (size_t i = 0; i < capture->origin->heads.count; i++)
        visit(&open, capture->origin->heads.nodes[i], walk);
    while (open.count) {
        const struct node_set *before = &open.nodes[--open.count]->before;
        for (size_t j = 0; j < before->count; j++)
            visit(&open, before->nodes[j], walk);
    }
    node_set_clear(&open);
    for (const struct CUstream_st *stream = capture->streams; stream; stream = stream->next_in_capture) {
        for (size_t i = 0; i < stream->heads.count; i++) {
            if (stream->heads.nodes[i]->visited != walk)
                return false;
        }
    }
    for (size_t i = 0; i < capture->left.count; i++) {
        if (capture->left.nodes[i]->visited != walk)
            return false;
    }
    return true;
}

// Ends the capture for everybody in it. Its graph is the caller's.
static void end_capture(struct capture *capture)
{
    while (capture->streams) {
        struct CUstream_st *stream = capture->streams;
        capture->streams = stream->next_in_capture;
        stream->next_in_capture = NULL;
        stream->capture = NULL;
        node_set_clear(&stream->heads);
    }
    for (struct capture **place = &captures; *place; place = &(*place)->next) {
        if (*place == capture) {
            *place = capture->next;
            break;
        }
    }
    node_set_clear(&capture->left);
    capture->has_ended = true;
    capture_unref(capture);
}

void capture_drop_stream(struct CUstream_st *stream)
{
    struct capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) {
        if (capture->owns_graph)
            graph_delete(capture->graph);
        end_capture(capture);
        return;
    }
    // What it captured stays, and has to be joined by the end like that of the streams still there.
    for (size_t i = 0; i < stream->heads.count; i++)
        node_set_add(&capture->left, stream->heads.nodes[i]);
    for (struct CUstream_st **place = &capture->streams; *place; place = &(*place)->next_in_capture) {
        if (*place == stream) {
            *place = stream->next_in_capture;
            break;
        }
    }
    stream->capture = NULL;
    node_set_clear(&stream->heads);
}

static CUresult end(CUstream handle, CUstream otherwise, CUgraph *ret_graph)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result)
        return result;
    struct capture *capture = stream->capture;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    // Who captures to a graph of his own need not be told of it: NVIDIA's samples do so.
    if (!ret_graph && capture->owns_graph)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture->origin != stream)
        return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_serial())
        return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    if (capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (ret_graph)
        *ret_graph = result ? NULL : capture->graph;
    if (result && capture->owns_graph)
        graph_delete(capture->graph);
    end_capture(capture);
    return result;
}

static CUresult info(CUstream handle, CUstream otherwise, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                     const CUgraphNode **heads, const CUgraphEdgeData **edges, size_t *head_count)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result || !status)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    // Asking does not invalidate the capture in the way.
    if (stream->kind == STREAM_LEGACY && capture_before_legacy(stream->context))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const struct capture *capture = stream->capture;
    *status = !capture              ? CU_STREAM_CAPTURE_STATUS_NONE
              : capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id)
        *id = capture->id;
    if (graph)
        *graph = capture->graph;
    if (heads)
        *heads = stream->heads.nodes;
    if (edges)
        *edges = NULL; // all dependencies are plain ones
    if (head_count)
        *head_count = stream->heads.count;
    return CUDA_SUCCESS;
}

static CUresult update(CUstream handle, CUstream otherwise, CUgraphNode *heads, size_t count, unsigned flags)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result || (count && !heads) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < count; i++) {
        if (!IS(heads[i], MAGIC_NODE) || heads[i]->graph != stream->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    struct node_set updated = {0};
    for (size_t i = 0; flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES && i < stream->heads.count; i++)
        node_set_add(&updated, stream->heads.nodes[i]);
    for (size_t i = 0; i < count; i++)
        node_set_add(&updated, heads[i]);
    node_set_clear(&stream->heads);
    stream->heads = updated;
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    const int before = sim_thread.capture_mode;
    sim_thread.capture_mode = (int)*mode;
    *mode = (CUstreamCaptureMode)before;
    return CUDA_SUCCESS;
}

ENTRY_STREAM(NEED_CONTEXT, cuStreamBeginCapture, _ptsz, (CUstream hStream),
             begin(hStream, default_stream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0))
ENTRY_STREAM(NEED_CONTEXT, cuStreamBeginCapture_v2, _ptsz, (CUstream hStream, CUstreamCaptureMode mode),
             begin(hStream, default_stream, mode, NULL, NULL, 0))
ENTRY_STREAM(NEED_CONTEXT, cuStreamBeginCaptureToGraph, _ptsz,
             (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
              size_t numDependencies, CUstreamCaptureMode mode),
             ((void)dependencyData, !IS(hGraph, MAGIC_GRAPH) || (numDependencies && !dependencies)
                                        ? CUDA_ERROR_INVALID_VALUE
                                        : begin(hStream, default_stream, mode, hGraph, dependencies, numDependencies)))
ENTRY_STREAM(NEED_CONTEXT, cuStreamEndCapture, _ptsz, (CUstream hStream, CUgraph *phGraph),
             end(hStream, default_stream, phGraph))
ENTRY_STREAM(NEED_CONTEXT, cuStreamIsCapturing, _ptsz, (CUstream hStream, CUstreamCaptureStatus *captureStatus),
             info(hStream, default_stream, captureStatus, NULL, NULL, NULL, NULL, NULL))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetCaptureInfo, _ptsz,
             (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out),
             info(hStream, default_stream, captureStatus_out, id_out, NULL, NULL, NULL, NULL))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetCaptureInfo_v2, _ptsz,
             (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
              const CUgraphNode **dependencies_out, size_t *numDependencies_out),
             info(hStream, default_stream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
                  numDependencies_out))
ENTRY_STREAM(NEED_CONTEXT, cuStreamGetCaptureInfo_v3, _ptsz,
             (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
              const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
             info(hStream, default_stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                  numDependencies_out))
ENTRY_STREAM(NEED_CONTEXT, cuStreamUpdateCaptureDependencies, _ptsz,
             (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned flags),
             update(hStream, default_stream, dependencies, numDependencies, flags))
ENTRY_STREAM(NEED_CONTEXT, cuStreamUpdateCaptureDependencies_v2, _ptsz,
             (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
              size_t numDependencies, unsigned flags),
             ((void)dependencyData, update(hStream, default_stream, dependencies, numDependencies, flags)))
ENTRY(NEED_INIT, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), exchange_mode(mode))
