// Graphs with conditional nodes: if and else, while, switch, one inside another, bodies built by hand and captured.
// Kernels compute nothing on the simulated GPU, so that conditions keep the value they have at each launch.
#include "program.h"

__global__ void stop(cudaGraphConditionalHandle handle)
{
    cudaGraphSetConditional(handle, 0);
}

static cudaGraphConditionalHandle condition(cudaGraph_t graph, unsigned value)
{
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
    return handle;
}

// Adds a conditional node after `before`; its bodies are ret_bodies[0] to [size - 1].
static cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphConditionalHandle handle,
                           cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t *ret_bodies)
{
    cudaGraphNode_t node;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&node, graph, before ? &before : nullptr, nullptr, before ? 1 : 0, &params));
#else
    CHECK(cudaGraphAddNode(&node, graph, before ? &before : nullptr, before ? 1 : 0, &params));
#endif
    for (unsigned i = 0; i < size; i++)
        ret_bodies[i] = params.conditional.phGraph_out[i];
    return node;
}

static cudaGraphNode_t add_set(cudaGraph_t graph, unsigned char *memory, unsigned char value)
{
    cudaGraphNode_t node;
    cudaMemsetParams set = {};
    set.dst = memory;
    set.value = value;
    set.elementSize = 1;
    set.width = 256;
    set.height = 1;
    CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &set));
    return node;
}

int main()
{
    enum { IF_TAKEN, IF_NOT, ELSE_TAKEN, WHILE_ONCE, SWITCH_1, SWITCH_NONE, NESTED, PLACES };
    unsigned char *device, back[PLACES];
    cudaStream_t stream;
    cudaGraph_t graph, bodies[4], inner[1], child, captured;
    cudaGraphNode_t node, download;
    cudaGraphExec_t exec;

    CHECK(cudaMalloc(&device, PLACES * 256));
    CHECK(cudaMemset(device, 0, PLACES * 256));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphCreate(&graph, 0));

    node = add(graph, nullptr, condition(graph, 1), cudaGraphCondTypeIf, 1, bodies);
    add_set(bodies[0], device + 256 * IF_TAKEN, 1);
    node = add(graph, node, condition(graph, 0), cudaGraphCondTypeIf, 1, bodies);
    add_set(bodies[0], device + 256 * IF_NOT, 1);
#if CUDART_VERSION >= 12080
    node = add(graph, node, condition(graph, 0), cudaGraphCondTypeIf, 2, bodies);
    add_set(bodies[1], device + 256 * ELSE_TAKEN, 1);
    node = add(graph, node, condition(graph, 1), cudaGraphCondTypeSwitch, 3, bodies);
    add_set(bodies[0], device + 256 * SWITCH_1, 9);
    add_set(bodies[1], device + 256 * SWITCH_1, 1);
    add_set(bodies[2], device + 256 * SWITCH_1, 9);
    node = add(graph, node, condition(graph, 7), cudaGraphCondTypeSwitch, 1, bodies);
    add_set(bodies[0], device + 256 * SWITCH_NONE, 1);
#endif

    // A body that is captured; its last kernel ends the loop where kernels compute.
    const cudaGraphConditionalHandle loop = condition(graph, 1);
    node = add(graph, node, loop, cudaGraphCondTypeWhile, 1, bodies);
    CHECK(cudaStreamBeginCaptureToGraph(stream, bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(device + 256 * WHILE_ONCE, 1, 256, stream));
    spin_ns<<<4, 64, 0, stream>>>(20000);
    stop<<<1, 1, 0, stream>>>(loop);
    CHECK(cudaStreamEndCapture(stream, &captured));
    EXPECT(captured == bodies[0]);
    CHECK(cudaStreamBeginCaptureToGraph(stream, bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamEndCapture(stream, nullptr)); // whose graph it is is known
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaStreamEndCapture(stream, nullptr) == cudaErrorInvalidValue);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphDestroy(captured));

    // A conditional node in a child graph in a body.
    node = add(graph, node, condition(graph, 1), cudaGraphCondTypeIf, 1, bodies);
    CHECK(cudaGraphCreate(&child, 0));
    add_set(child, device + 256 * NESTED, 1);
    CHECK(cudaGraphAddChildGraphNode(&download, bodies[0], nullptr, 0, child));
    add(bodies[0], download, condition(graph, 0), cudaGraphCondTypeIf, 1, inner);
    add_set(inner[0], device + 256 * NESTED, 9);

    // What the documentation refuses.
    cudaHostNodeParams call = {[](void *) {}, nullptr};
    EXPECT(cudaGraphAddHostNode(&download, bodies[0], nullptr, 0, &call) != cudaSuccess);
    EXPECT(cudaGraphDestroy(bodies[0]) != cudaSuccess);
    cudaGetLastError();

    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    EXPECT(type == cudaGraphNodeTypeConditional);
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == (CUDART_VERSION >= 12080 ? 7 : 4));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int step = 0; step < 20; step++) {
        CHECK(cudaMemsetAsync(device, 0, PLACES * 256, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpy2DAsync(back, 1, device + 255, 256, 1, PLACES, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back[IF_TAKEN] == 1 && back[IF_NOT] == 0 && back[WHILE_ONCE] == 1 && back[NESTED] == 1);
        EXPECT(CUDART_VERSION < 12080 || (back[ELSE_TAKEN] == 1 && back[SWITCH_1] == 1));
        EXPECT(back[SWITCH_NONE] == 0);
    }

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    return 0;
}
