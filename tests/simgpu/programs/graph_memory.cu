// Graphs that allocate and free: nodes by hand, allocation in capture, and the general way of adding a node.
#include "program.h"

int main()
{
    const size_t bytes = 1 << 16;
    cudaStream_t stream;
    cudaGraph_t graph, captured;
    cudaGraphExec_t exec, captured_exec;
    cudaGraphNode_t allocate, clear, download, release;
    unsigned char *back;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost(&back, bytes));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = bytes;
    CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &memory));
    EXPECT(memory.dptr != nullptr);

    cudaGraphNodeParams node = {};
    node.type = cudaGraphNodeTypeMemset;
    node.memset.dst = memory.dptr;
    node.memset.value = 0x3C;
    node.memset.elementSize = 1;
    node.memset.width = bytes;
    node.memset.height = 1;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&clear, graph, &allocate, nullptr, 1, &node));
#else
    CHECK(cudaGraphAddNode(&clear, graph, &allocate, 1, &node));
#endif
    CHECK(cudaGraphAddMemcpyNode1D(&download, graph, &clear, 1, back, memory.dptr, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &download, 1, memory.dptr));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    void *temporary = nullptr;
    CHECK(cudaMallocAsync(&temporary, bytes, stream));
    CHECK(cudaMemsetAsync(temporary, 0x77, bytes, stream));
    spin_ns<<<4, 64, 0, stream>>>(10000);
    CHECK(cudaMemcpyAsync(back, temporary, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(temporary, stream));
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&captured_exec, captured, 0));
    for (int step = 0; step < 20; step++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back[bytes - 1] == 0x3C);
        CHECK(cudaGraphLaunch(captured_exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back[bytes - 1] == 0x77);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(captured_exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaFreeHost(back));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
