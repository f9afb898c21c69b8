// Graphs by stream capture: a fork over two streams and back, replay, update, and what capture forbids.
#include "program.h"

static cudaGraph_t capture(cudaStream_t main_stream, cudaStream_t side, cudaEvent_t fork, cudaEvent_t join,
                           unsigned char *device, const unsigned char *host, unsigned char *back, size_t bytes,
                           unsigned long long ns)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, main_stream));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    spin_ns<<<8, 64, 0, side>>>(ns);
    spin_ns<<<8, 64, 0, main_stream>>>(ns * 2);
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(main_stream, join, 0));
    CHECK(cudaMemcpyAsync(back, device, bytes, cudaMemcpyDeviceToHost, main_stream));
    CHECK(cudaStreamEndCapture(main_stream, &graph));
    return graph;
}

int main()
{
    const size_t bytes = 1 << 15;
    unsigned char *host, *back, *device;
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    cudaStreamCaptureStatus status;
    cudaGraphExec_t exec;
    size_t nodes = 0;

    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMallocHost(&back, bytes));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    cudaGraph_t graph = capture(stream, side, fork, join, device, host, back, bytes, 15000);
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 4);
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 1);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    for (int step = 0; step < 30; step++) {
        host[0] = host[bytes - 1] = static_cast<unsigned char>(step + 1);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back[0] == step + 1 && back[bytes - 1] == step + 1);
    }
    // Other durations, same shape: the executable graph is updated in place.
    cudaGraph_t longer = capture(stream, side, fork, join, device, host, back, bytes, 30000);
    cudaGraphExecUpdateResultInfo info = {};
    CHECK(cudaGraphExecUpdate(exec, longer, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    for (int step = 0; step < 5; step++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    // Synchronising with a capturing stream is refused and spoils the capture.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK_FAILS(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t spoiled = nullptr;
    CHECK_FAILS(cudaStreamEndCapture(stream, &spoiled), cudaErrorStreamCaptureInvalidated);
    EXPECT(spoiled == nullptr);
    // A stream that was drawn in has to be joined again.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    spin_ns<<<1, 1, 0, side>>>(1000);
    CHECK_FAILS(cudaStreamEndCapture(stream, &spoiled), cudaErrorStreamCaptureUnjoined);
    (void)cudaGetLastError();

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(longer));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFreeHost(back));
    return 0;
}
