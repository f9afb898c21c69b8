// Graphs by hand, instantiation, launches, updates, child graphs, memory nodes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/test_support.h"

static CUstream stream;

static int start(void **state)
{
    (void)state;
    support_start("graph_instantiate_ns_per_node 400000");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static CUgraphNode add_spin(CUgraph graph, const CUgraphNode *before, size_t count, const char *name,
                            uint64_t duration_ns)
{
    CUgraphNode node;
    void *parameters[] = {&duration_ns};
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = support_kernel(name),
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 32,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = parameters};
    OK(cuGraphAddKernelNode_v2(&node, graph, before, count, &kernel));
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void launch(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
}

static uint64_t duration_of(const char *name)
{
    const struct logged_op op = support_op(name);
    return op.end_ns - op.start_ns;
}

static void launch_makes_an_operation_of_each_node(void **state)
{
    (void)state;
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode root = add_spin(graph, NULL, 0, "root_spin_ns", 100000), both[2];
    both[0] = add_spin(graph, &root, 1, "left_spin_ns", 300000);
    both[1] = add_spin(graph, &root, 1, "right_spin_ns", 500000);
    add_spin(graph, both, 2, "tail_spin_ns", 1000);
    CUgraphExec exec = instantiate(graph);
    launch(exec);
    const struct logged_op root_op = support_op("root_spin_ns"), left = support_op("left_spin_ns");
    const struct logged_op right = support_op("right_spin_ns"), tail = support_op("tail_spin_ns");
    assert_int_equal(left.start_ns, root_op.end_ns);
    assert_int_equal(right.start_ns, root_op.end_ns);
    assert_int_equal(tail.start_ns, right.end_ns);
    assert_string_equal(tail.cause, "graph");
    assert_true(root_op.graph_node && left.graph_node && root_op.graph_node != left.graph_node);
    launch(exec);
    assert_int_equal(support_op_count("root_spin_ns"), 2);
    assert_int_equal(support_op("root_spin_ns").graph_node, root_op.graph_node);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void instantiation_costs_host_time(void **state)
{
    (void)state;
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < 5; i++)
        add_spin(graph, NULL, 0, "cheap_spin_ns", 1);
    OK(cuGraphExecDestroy(instantiate(graph)));
    const struct logged_call call = support_call("cuGraphInstantiateWithFlags");
    assert_true(call.end_ns - call.begin_ns >= 5 * 400000);
    OK(cuGraphDestroy(graph));
}

static void set_flag(void *flag)
{
    *(int *)flag = 1;
}

static void all_kinds_by_hand(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode set, copy, host, empty, record, wait;
    CUdeviceptr memory;
    CUevent event;
    uint32_t result[4] = {0};
    int called = 0;
    OK(cuGraphCreate(&graph, 0));
    OK(cuMemAlloc(&memory, sizeof result));
    OK(cuEventCreate(&event, 0));
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = memory, .value = 0xabcd1234, .elementSize = 4, .width = 4, .height = 1};
    OK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, context));
    const CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = memory,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = result,
                                .WidthInBytes = sizeof result,
                                .Height = 1,
                                .Depth = 1};
    OK(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &back, context));
    const CUDA_HOST_NODE_PARAMS call = {set_flag, &called};
    OK(cuGraphAddHostNode(&host, graph, &copy, 1, &call));
    OK(cuGraphAddEmptyNode(&empty, graph, &host, 1));
    OK(cuGraphAddEventRecordNode(&record, graph, &empty, 1, event));
    OK(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    CUgraphExec exec = instantiate(graph);
    launch(exec);
    assert_int_equal(result[0], 0xabcd1234);
    assert_int_equal(result[3], 0xabcd1234);
    assert_int_equal(called, 1);
    OK(cuEventQuery(event));
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(wait, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    CUDA_MEMSET_NODE_PARAMS read_back;
    OK(cuGraphMemsetNodeGetParams(set, &read_back));
    assert_int_equal(read_back.value, fill.value);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(event));
    OK(cuMemFree(memory));
}

static void exec_parameters_and_update(void **state)
{
    (void)state;
    CUgraph graph, changed, other;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode node = add_spin(graph, NULL, 0, "updated_spin_ns", 1000);
    CUgraphExec exec = instantiate(graph);
    CUDA_KERNEL_NODE_PARAMS kernel;
    OK(cuGraphKernelNodeGetParams_v2(node, &kernel));
    assert_int_equal(*(uint64_t *)kernel.kernelParams[0], 1000);
    uint64_t duration_ns = 2000;
    void *parameters[] = {&duration_ns};
    kernel.kernelParams = parameters;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel));
    launch(exec);
    assert_int_equal(duration_of("updated_spin_ns"), 2000);

    CUgraphExecUpdateResultInfo info;
    OK(cuGraphCreate(&changed, 0));
    add_spin(changed, NULL, 0, "updated_spin_ns", 3000);
    OK(cuGraphExecUpdate_v2(exec, changed, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    launch(exec);
    assert_int_equal(duration_of("updated_spin_ns"), 3000);

    OK(cuGraphCreate(&other, 0));
    CUgraphNode first = add_spin(other, NULL, 0, "updated_spin_ns", 1);
    add_spin(other, &first, 1, "updated_spin_ns", 1);
    assert_int_equal(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);

    const unsigned before = support_op_count("updated_spin_ns");
    OK(cuGraphNodeSetEnabled(exec, node, 0));
    launch(exec);
    assert_int_equal(support_op_count("updated_spin_ns"), before);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(changed));
    OK(cuGraphDestroy(other));
}

static void cycle_cannot_be_instantiated(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode a = add_spin(graph, NULL, 0, "cycle_spin_ns", 1), b = add_spin(graph, &a, 1, "cycle_spin_ns", 1);
    OK(cuGraphAddDependencies_v2(graph, &b, &a, NULL, 1));
    assert_int_equal(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRemoveDependencies_v2(graph, &b, &a, NULL, 1));
    OK(cuGraphExecDestroy(instantiate(graph)));
    OK(cuGraphDestroy(graph));
}

static void child_graph_runs_in_place(void **state)
{
    (void)state;
    CUgraph child, parent;
    CUgraphNode node;
    OK(cuGraphCreate(&child, 0));
    CUgraphNode first = add_spin(child, NULL, 0, "child1_spin_ns", 1000);
    add_spin(child, &first, 1, "child2_spin_ns", 1000);
    OK(cuGraphCreate(&parent, 0));
    CUgraphNode root = add_spin(parent, NULL, 0, "parent1_spin_ns", 1000);
    OK(cuGraphAddChildGraphNode(&node, parent, &root, 1, child));
    add_spin(parent, &node, 1, "parent2_spin_ns", 1000);
    CUgraphExec exec = instantiate(parent);
    launch(exec);
    assert_int_equal(support_op("child1_spin_ns").start_ns, support_op("parent1_spin_ns").end_ns);
    assert_int_equal(support_op("parent2_spin_ns").start_ns, support_op("child2_spin_ns").end_ns);
    CUgraph clone;
    CUgraphNode found;
    OK(cuGraphClone(&clone, parent));
    OK(cuGraphNodeFindInClone(&found, root, clone));
    assert_ptr_not_equal(found, root);
    OK(cuGraphDestroy(clone));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(parent));
    OK(cuGraphDestroy(child));
}

#if CUDA_VERSION >= 12090
static void nodes_of_a_moved_child_can_be_updated(void **state)
{
    (void)state;
    CUgraph parent, child;
    CUgraphNode node;
    uint64_t longer_ns = 700000;
    void *parameters[] = {&longer_ns};
    const CUDA_KERNEL_NODE_PARAMS longer = {.func = support_kernel("moved_spin_ns"),
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 32,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = parameters};
    OK(cuGraphCreate(&parent, 0));
    OK(cuGraphCreate(&child, 0));
    const CUgraphNode inner = add_spin(child, NULL, 0, "moved_spin_ns", 100000);
    CUgraphNodeParams moved = {.type = CU_GRAPH_NODE_TYPE_GRAPH,
                               .graph = {.graph = child, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE}};
    OK(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &moved));
    assert_int_equal(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &moved), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = instantiate(parent);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, inner, &longer));
    launch(exec);
    assert_int_equal(duration_of("moved_spin_ns"), 700000);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(parent));
}
#endif

static void graph_launched_into_a_capture_becomes_a_child(void **state)
{
    (void)state;
    CUgraph graph, captured;
    size_t count = 0;
    OK(cuGraphCreate(&graph, 0));
    add_spin(graph, NULL, 0, "nested_spin_ns", 1000);
    CUgraphExec exec = instantiate(graph);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamEndCapture(stream, &captured));
    OK(cuGraphGetNodes(captured, NULL, &count));
    assert_int_equal(count, 1);
    CUgraphExec outer = instantiate(captured);
    launch(outer);
    assert_int_equal(support_op_count("nested_spin_ns"), 1);
    OK(cuGraphExecDestroy(outer));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(captured));
    OK(cuGraphDestroy(graph));
}

static void launches_of_one_graph_follow_each_other(void **state)
{
    (void)state;
    CUgraph graph;
    CUstream other;
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    add_spin(graph, NULL, 0, "again_spin_ns", 10000000);
    CUgraphExec exec = instantiate(graph);
    OK(cuGraphLaunch(exec, stream));
    const struct logged_op first = support_op("again_spin_ns");
    OK(cuGraphLaunch(exec, other));
    const struct logged_op second = support_op("again_spin_ns");
    support_expect_after(&second, &first, "stream");
    OK(cuStreamSynchronize(other));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(other));
}

static void allocation_nodes_have_addresses(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode allocated, set, freed;
    size_t free_before, free_during, free_after, total;
    OK(cuMemGetInfo(&free_before, &total));
    OK(cuGraphCreate(&graph, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = 1 << 20};
    OK(cuGraphAddMemAllocNode(&allocated, graph, NULL, 0, &alloc));
    assert_true(alloc.dptr != 0);
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = alloc.dptr, .value = 1, .elementSize = 1, .width = 1 << 20, .height = 1};
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphAddMemsetNode(&set, graph, &allocated, 1, &fill, context));
    OK(cuGraphAddMemFreeNode(&freed, graph, &set, 1, alloc.dptr));
    CUgraphExec exec = instantiate(graph);
    launch(exec);
    launch(exec);
    OK(cuMemGetInfo(&free_during, &total));
    assert_int_equal(free_before - free_during, 1 << 20);
    OK(cuGraphDestroy(graph));
    OK(cuGraphExecDestroy(exec));
    OK(cuMemGetInfo(&free_after, &total));
    assert_int_equal(free_after, free_before);
}

static void dot_file_lists_nodes(void **state)
{
    (void)state;
    CUgraph graph;
    char path[] = "simgpu-dot-XXXXXX", text[512] = "";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    OK(cuGraphCreate(&graph, 0));
    add_spin(graph, NULL, 0, "drawn_spin_ns", 1);
    OK(cuGraphDebugDotPrint(graph, path, 0));
    assert_true(read(file, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "drawn_spin_ns"));
    close(file);
    unlink(path);
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_makes_an_operation_of_each_node),
        cmocka_unit_test(instantiation_costs_host_time),
        cmocka_unit_test(all_kinds_by_hand),
        cmocka_unit_test(exec_parameters_and_update),
        cmocka_unit_test(cycle_cannot_be_instantiated),
        cmocka_unit_test(child_graph_runs_in_place),
#if CUDA_VERSION >= 12090
        cmocka_unit_test(nodes_of_a_moved_child_can_be_updated),
#endif
        cmocka_unit_test(graph_launched_into_a_capture_becomes_a_child),
        cmocka_unit_test(launches_of_one_graph_follow_each_other),
        cmocka_unit_test(allocation_nodes_have_addresses),
        cmocka_unit_test(dot_file_lists_nodes),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
