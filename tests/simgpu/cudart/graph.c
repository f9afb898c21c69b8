/* Graphs as a whole: structure, instantiation, user objects. */
#include "graph_convert.h"

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaGraphCreate, RT_REQUIRE(pGraph, DRV(cuGraphCreate)(pGraph, flags)));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    RT_CALL(RT_DRIVER, cudaGraphDestroy, DRV(cuGraphDestroy)(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    RT_CALL(RT_DRIVER, cudaGraphClone, RT_REQUIRE(pGraphClone, DRV(cuGraphClone)(pGraphClone, originalGraph)));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
    RT_CALL(RT_DRIVER, cudaGraphNodeFindInClone,
            RT_REQUIRE(pNode, DRV(cuGraphNodeFindInClone)(pNode, originalNode, clonedGraph)));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    RT_CALL(RT_DRIVER, cudaGraphNodeGetType,
            RT_REQUIRE(pType, DRV(cuGraphNodeGetType)(node, (CUgraphNodeType *)pType)));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    RT_CALL(RT_DRIVER, cudaGraphGetNodes, RT_REQUIRE(numNodes, DRV(cuGraphGetNodes)(graph, nodes, numNodes)));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
    RT_CALL(RT_DRIVER, cudaGraphGetRootNodes,
            RT_REQUIRE(pNumRootNodes, DRV(cuGraphGetRootNodes)(graph, pRootNodes, pNumRootNodes)));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    RT_CALL(RT_DRIVER, cudaGraphDestroyNode, DRV(cuGraphDestroyNode)(node));
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaGraphDebugDotPrint, RT_REQUIRE(path, DRV(cuGraphDebugDotPrint)(graph, path, flags)));
}

/* Functions on edges: 13 has them with edge data only, 12 also without. */
cudaError_t rt_graph_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                               size_t *count) RT_SYMBOL(RT_NAME_V2("cudaGraphGetEdges"));
cudaError_t rt_node_dependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
                                 size_t *count) RT_SYMBOL(RT_NAME_V2("cudaGraphNodeGetDependencies"));
cudaError_t rt_node_dependents(cudaGraphNode_t node, cudaGraphNode_t *dependents, cudaGraphEdgeData *edges,
                               size_t *count) RT_SYMBOL(RT_NAME_V2("cudaGraphNodeGetDependentNodes"));
cudaError_t rt_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                const cudaGraphEdgeData *edges, size_t count)
    RT_SYMBOL(RT_NAME_V2("cudaGraphAddDependencies"));
cudaError_t rt_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   const cudaGraphEdgeData *edges, size_t count)
    RT_SYMBOL(RT_NAME_V2("cudaGraphRemoveDependencies"));

cudaError_t rt_graph_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                               size_t *count)
{
    RT_CALL_NAMED(RT_DRIVER, RT_NAME_V2("cudaGraphGetEdges"),
                  RT_REQUIRE(count, DRV(cuGraphGetEdges)(graph, from, to, (CUgraphEdgeData *)edges, count)));
}

cudaError_t rt_node_dependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
                                 size_t *count)
{
    RT_CALL_NAMED(
        RT_DRIVER, RT_NAME_V2("cudaGraphNodeGetDependencies"),
        RT_REQUIRE(count, DRV(cuGraphNodeGetDependencies)(node, dependencies, (CUgraphEdgeData *)edges, count)));
}

cudaError_t rt_node_dependents(cudaGraphNode_t node, cudaGraphNode_t *dependents, cudaGraphEdgeData *edges,
                               size_t *count)
{
    RT_CALL_NAMED(
        RT_DRIVER, RT_NAME_V2("cudaGraphNodeGetDependentNodes"),
        RT_REQUIRE(count, DRV(cuGraphNodeGetDependentNodes)(node, dependents, (CUgraphEdgeData *)edges, count)));
}

cudaError_t rt_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                const cudaGraphEdgeData *edges, size_t count)
{
    RT_CALL_NAMED(RT_DRIVER, RT_NAME_V2("cudaGraphAddDependencies"),
                  DRV(cuGraphAddDependencies)(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t rt_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   const cudaGraphEdgeData *edges, size_t count)
{
    RT_CALL_NAMED(RT_DRIVER, RT_NAME_V2("cudaGraphRemoveDependencies"),
                  DRV(cuGraphRemoveDependencies)(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

#if RT_MAJOR == 12
cudaError_t rt_graph_get_edges_v1(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
    RT_SYMBOL("cudaGraphGetEdges");
cudaError_t rt_node_dependencies_v1(cudaGraphNode_t node, cudaGraphNode_t *dependencies, size_t *count)
    RT_SYMBOL("cudaGraphNodeGetDependencies");
cudaError_t rt_node_dependents_v1(cudaGraphNode_t node, cudaGraphNode_t *dependents, size_t *count)
    RT_SYMBOL("cudaGraphNodeGetDependentNodes");
cudaError_t rt_add_dependencies_v1(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   size_t count) RT_SYMBOL("cudaGraphAddDependencies");
cudaError_t rt_remove_dependencies_v1(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                      size_t count) RT_SYMBOL("cudaGraphRemoveDependencies");

cudaError_t rt_graph_get_edges_v1(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGraphGetEdges",
                  RT_REQUIRE(count, DRV(cuGraphGetEdges)(graph, from, to, NULL, count)));
}

cudaError_t rt_node_dependencies_v1(cudaGraphNode_t node, cudaGraphNode_t *dependencies, size_t *count)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGraphNodeGetDependencies",
                  RT_REQUIRE(count, DRV(cuGraphNodeGetDependencies)(node, dependencies, NULL, count)));
}

cudaError_t rt_node_dependents_v1(cudaGraphNode_t node, cudaGraphNode_t *dependents, size_t *count)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGraphNodeGetDependentNodes",
                  RT_REQUIRE(count, DRV(cuGraphNodeGetDependentNodes)(node, dependents, NULL, count)));
}

cudaError_t rt_add_dependencies_v1(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   size_t count)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGraphAddDependencies", DRV(cuGraphAddDependencies)(graph, from, to, NULL, count));
}

cudaError_t rt_remove_dependencies_v1(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                      size_t count)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGraphRemoveDependencies",
                  DRV(cuGraphRemoveDependencies)(graph, from, to, NULL, count));
}
#endif

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    RT_CALL(RT_CONTEXT, cudaGraphInstantiate,
            RT_REQUIRE(pGraphExec, DRV(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags)));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    RT_CALL(RT_CONTEXT, cudaGraphInstantiateWithFlags,
            RT_REQUIRE(pGraphExec, DRV(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags)));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaUserObjectCreate,
            RT_REQUIRE(object_out, DRV(cuUserObjectCreate)(object_out, ptr, destroy, initialRefcount, flags)));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    RT_CALL(RT_DRIVER, cudaUserObjectRetain, DRV(cuUserObjectRetain)(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    RT_CALL(RT_DRIVER, cudaUserObjectRelease, DRV(cuUserObjectRelease)(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaGraphRetainUserObject, DRV(cuGraphRetainUserObject)(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    RT_CALL(RT_DRIVER, cudaGraphReleaseUserObject, DRV(cuGraphReleaseUserObject)(graph, object, count));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
                                             unsigned int defaultLaunchValue, unsigned int flags)
{
    CUcontext context;
    RT_CALL(RT_CONTEXT, cudaGraphConditionalHandleCreate,
            rt_graph_context(&context) == CUDA_SUCCESS
                ? DRV(cuGraphConditionalHandleCreate)((CUgraphConditionalHandle *)pHandle_out, graph, context,
                                                      defaultLaunchValue, flags)
                : CUDA_ERROR_INVALID_CONTEXT);
}
