// A graph built node by node: memset, copies, kernels, host function, event record, empty node, child graph, clone and
// queries.
#include "program.h"

static void count_up(void *counter)
{
    ++*static_cast<int *>(counter);
}

int main()
{
    const size_t bytes = 1 << 14;
    unsigned char *host, *back, *device;
    cudaStream_t stream;
    cudaEvent_t middle;
    cudaGraph_t graph, child, clone;
    cudaGraphNode_t clear, upload, kernel, note, host_node, nothing, inside, download, found;
    cudaGraphExec_t exec, clone_exec;
    int calls = 0;

    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMallocHost(&back, bytes));
    CHECK(cudaMalloc(&device, 2 * bytes));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&middle));
    CHECK(cudaGraphCreate(&graph, 0));

    cudaMemsetParams zero = {};
    zero.dst = device;
    zero.value = 0x21;
    zero.elementSize = 1;
    zero.width = 2 * bytes;
    zero.height = 1;
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero));
    CHECK(cudaGraphAddMemcpyNode1D(&upload, graph, &clear, 1, device, host, bytes, cudaMemcpyHostToDevice));

    unsigned long long ns = 20000;
    void *arguments[] = {&ns};
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void *>(spin_ns);
    launch.gridDim = dim3(16);
    launch.blockDim = dim3(128);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &upload, 1, &launch));
    CHECK(cudaGraphAddEventRecordNode(&note, graph, &kernel, 1, middle));

    cudaHostNodeParams call = {count_up, &calls};
    CHECK(cudaGraphAddHostNode(&host_node, graph, &kernel, 1, &call));
    cudaGraphNode_t both[] = {note, host_node};
    CHECK(cudaGraphAddEmptyNode(&nothing, graph, both, 2));

    CHECK(cudaGraphCreate(&child, 0));
    cudaGraphNode_t in_child;
    CHECK(cudaGraphAddMemcpyNode1D(&in_child, child, nullptr, 0, device + bytes, device, bytes / 2,
                                   cudaMemcpyDeviceToDevice));
    CHECK(cudaGraphAddChildGraphNode(&inside, graph, &nothing, 1, child));

    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(device + bytes, bytes, bytes, 1);
    copy.dstPtr = make_cudaPitchedPtr(back, bytes, bytes, 1);
    copy.extent = make_cudaExtent(bytes, 1, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&download, graph, &inside, 1, &copy));

    // What was built is what can be asked for.
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 8);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(host_node, &type));
    EXPECT(type == cudaGraphNodeTypeHost);
    CHECK(cudaGraphNodeGetType(inside, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);
    cudaKernelNodeParams read = {};
    CHECK(cudaGraphKernelNodeGetParams(kernel, &read));
    EXPECT(read.func == launch.func && read.gridDim.x == 16 && read.blockDim.x == 128);
    cudaMemsetParams read_zero = {};
    CHECK(cudaGraphMemsetNodeGetParams(clear, &read_zero));
    EXPECT(read_zero.dst == device && read_zero.value == 0x21);
    cudaMemcpy3DParms read_copy = {};
    CHECK(cudaGraphMemcpyNodeGetParams(download, &read_copy));
    EXPECT(read_copy.dstPtr.ptr == back && read_copy.extent.width == bytes);
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphNodeGetDependencies(nothing, nullptr, nullptr, &count));
    EXPECT(count == 2);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
#else
    CHECK(cudaGraphNodeGetDependencies(nothing, nullptr, &count));
    EXPECT(count == 2);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, &count));
#endif
    EXPECT(count == 8);

    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphNodeFindInClone(&found, kernel, clone));
    EXPECT(found != kernel);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphInstantiate(&clone_exec, clone, 0));
    for (int step = 0; step < 24; step++) {
        host[0] = static_cast<unsigned char>(step);
        ns = 999; // copied when the node was made
        CHECK(cudaGraphLaunch(step % 2 ? exec : clone_exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back[0] == step && back[bytes - 1] == 0x21);
        EXPECT(calls == step + 1);
        CHECK(cudaEventQuery(middle));
    }
    unsigned long long shorter = 5000;
    void *other_arguments[] = {&shorter};
    launch.kernelParams = other_arguments;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, upload, device, host + 1, bytes - 1, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphDestroyNode(download));
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 7);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(clone_exec));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(middle));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFreeHost(back));
    return 0;
}
