// Stream capture: forks and joins, modes, what is forbidden and what that does to the capture.
#include <pthread.h>

#include "tests/simgpu/test_support.h"

static CUstream stream, other;

static int start(void **state)
{
    (void)state;
    support_start("");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    return 0;
}

static CUstreamCaptureStatus status_of(CUstream handle)
{
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(handle, &status));
    return status;
}

static void expect_invalidated(void)
{
    CUgraph graph = (CUgraph)1;
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void captured_work_is_a_chain(void **state)
{
    (void)state;
    CUgraph graph;
    size_t nodes = 0, edges = 0;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    support_spin("a", 1, 1000, stream);
    support_spin("b", 1, 1000, stream);
    support_spin("c", 1, 1000, stream);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    assert_int_equal(nodes, 3);
    assert_int_equal(edges, 2);
    assert_int_equal(support_op_count("a_spin_ns"), 0);
    OK(cuGraphDestroy(graph));
}

static void events_fork_and_join(void **state)
{
    (void)state;
    CUgraph graph;
    CUevent forked, joined;
    size_t edges = 0, roots = 0;
    OK(cuEventCreate(&forked, 0));
    OK(cuEventCreate(&joined, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    support_spin("root", 1, 1000, stream);
    OK(cuEventRecord(forked, stream));
    OK(cuStreamWaitEvent(other, forked, 0));
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    support_spin("left", 1, 1000, stream);
    support_spin("right", 1, 1000, other);
    OK(cuEventRecord(joined, other));
    OK(cuStreamWaitEvent(stream, joined, 0));
    support_spin("tail", 1, 1000, stream);
    OK(cuStreamEndCapture(stream, &graph));
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    OK(cuGraphGetRootNodes(graph, NULL, &roots));
    assert_int_equal(edges, 4);
    assert_int_equal(roots, 1);
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(forked));
    OK(cuEventDestroy(joined));
}

static void unjoined_fork_is_an_error(void **state)
{
    (void)state;
    CUgraph graph;
    CUevent forked;
    OK(cuEventCreate(&forked, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    support_spin("root", 1, 1000, stream);
    OK(cuEventRecord(forked, stream));
    OK(cuStreamWaitEvent(other, forked, 0));
    support_spin("right", 1, 1000, other);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuEventDestroy(forked));
}

static void unsafe_call_invalidates_a_global_capture(void **state)
{
    (void)state;
    CUdeviceptr memory;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuMemAlloc(&memory, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
}

static void relaxed_thread_may_allocate(void **state)
{
    (void)state;
    CUdeviceptr memory;
    CUgraph graph;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc(&memory, 16));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(memory));
}

static void *allocate_elsewhere(void *result)
{
    CUcontext context;
    CUdeviceptr memory;
    *(CUresult *)result = cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    *(CUresult *)result = cuMemAlloc(&memory, 16);
    if (*(CUresult *)result == CUDA_SUCCESS)
        cuMemFree(memory);
    cuDevicePrimaryCtxRelease(0);
    return NULL;
}

static CUresult allocate_on_another_thread(void)
{
    CUresult result = CUDA_ERROR_UNKNOWN;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return result;
}

static void modes_bind_other_threads_as_documented(void **state)
{
    (void)state;
    CUgraph graph;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(allocate_on_another_thread(), CUDA_SUCCESS);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(allocate_on_another_thread(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
}

static void waiting_for_a_capturing_stream_invalidates(void **state)
{
    (void)state;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
}

static void captured_event_cannot_be_waited_for(void **state)
{
    (void)state;
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, stream));
    assert_int_equal(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    expect_invalidated();
    OK(cuEventDestroy(event));
}

static void query_of_any_event_breaks_a_global_capture(void **state)
{
    (void)state;
    CUevent event;
    CUgraph graph;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, other));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuEventSynchronize(event));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalidated();
    OK(cuEventDestroy(event));
}

static void event_from_outside_breaks_isolation(void **state)
{
    (void)state;
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, other));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    expect_invalidated();
    OK(cuEventDestroy(event));
}

static void legacy_stream_is_implicit_dependency(void **state)
{
    (void)state;
    CUstream blocking;
    CUgraph graph;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    assert_int_equal(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUstreamCaptureStatus status;
    assert_int_equal(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(status_of(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE); // asking does no harm
    CUfunction kernel = support_kernel("implicit");
    assert_int_equal(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamDestroy(blocking));
}

static void misuse_is_named(void **state)
{
    (void)state;
    CUgraph graph;
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

static void capture_info_shows_heads(void **state)
{
    (void)state;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph, ended;
    const CUgraphNode *heads;
    size_t count;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    support_spin("head", 1, 1000, stream);
    OK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &heads, NULL, &count));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_true(id != 0);
    assert_int_equal(count, 1);
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(heads[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuStreamUpdateCaptureDependencies_v2(stream, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    support_spin("second_root", 1, 1000, stream);
    OK(cuStreamEndCapture(stream, &ended));
    assert_ptr_equal(graph, ended);
    OK(cuGraphGetRootNodes(ended, NULL, &count));
    assert_int_equal(count, 2);
    OK(cuGraphDestroy(ended));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_work_is_a_chain),
        cmocka_unit_test(events_fork_and_join),
        cmocka_unit_test(unjoined_fork_is_an_error),
        cmocka_unit_test(unsafe_call_invalidates_a_global_capture),
        cmocka_unit_test(relaxed_thread_may_allocate),
        cmocka_unit_test(modes_bind_other_threads_as_documented),
        cmocka_unit_test(waiting_for_a_capturing_stream_invalidates),
        cmocka_unit_test(captured_event_cannot_be_waited_for),
        cmocka_unit_test(query_of_any_event_breaks_a_global_capture),
        cmocka_unit_test(event_from_outside_breaks_isolation),
        cmocka_unit_test(legacy_stream_is_implicit_dependency),
        cmocka_unit_test(misuse_is_named),
        cmocka_unit_test(capture_info_shows_heads),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
