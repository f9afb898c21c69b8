/* Executable graphs: updates, and the general description of nodes. */
#include "copy.h"
#include "graph_convert.h"

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    RT_CALL(RT_DRIVER, cudaGraphExecDestroy, DRV(cuGraphExecDestroy)(graphExec));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    RT_CALL(RT_DRIVER, cudaGraphExecGetFlags,
            RT_REQUIRE(flags, DRV(cuGraphExecGetFlags)(graphExec, (cuuint64_t *)flags)));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo)
{
    _Static_assert(sizeof *resultInfo == sizeof(CUgraphExecUpdateResultInfo), "both have the same layout and numbers");
    RT_CALL(
        RT_CONTEXT, cudaGraphExecUpdate,
        RT_REQUIRE(resultInfo, DRV(cuGraphExecUpdate)(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo)));
}

static cudaError_t exec_set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                                   const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t result = rt_kernel_node_to_driver(params, &converted);
    return result == cudaSuccess ? (cudaError_t)DRV(cuGraphExecKernelNodeSetParams)(exec, node, &converted) : result;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecKernelNodeSetParams,
            RT_REQUIRE(pNodeParams, exec_set_kernel(hGraphExec, node, pNodeParams)));
}

static cudaError_t exec_set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    CUcontext context;
    CUresult result = rt_copy_3d_to_driver(params, &copy);
    if (result == CUDA_SUCCESS)
        result = rt_graph_context(&context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuGraphExecMemcpyNodeSetParams)(exec, node, &copy, context);
    return (cudaError_t)result;
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecMemcpyNodeSetParams,
            RT_REQUIRE(pNodeParams, exec_set_copy(hGraphExec, node, pNodeParams)));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
                                               const void *src, size_t count, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params = rt_copy_1d(dst, src, count, kind);
    RT_CALL(RT_CONTEXT, cudaGraphExecMemcpyNodeSetParams1D, exec_set_copy(hGraphExec, node, &params));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                     const void *symbol, const void *src, size_t count, size_t offset,
                                                     enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphExecMemcpyNodeSetParamsToSymbol,
            (found = rt_copy_to_symbol(symbol, src, count, offset, kind, &params)) == cudaSuccess
                ? exec_set_copy(hGraphExec, node, &params)
                : found);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
                                                       const void *symbol, size_t count, size_t offset,
                                                       enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphExecMemcpyNodeSetParamsFromSymbol,
            (found = rt_copy_from_symbol(dst, symbol, count, offset, kind, &params)) == cudaSuccess
                ? exec_set_copy(hGraphExec, node, &params)
                : found);
}

static cudaError_t exec_set_memset(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
    CUDA_MEMSET_NODE_PARAMS converted = rt_memset_node_to_driver(params);
    CUcontext context;
    CUresult result = rt_graph_context(&context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuGraphExecMemsetNodeSetParams)(exec, node, &converted, context);
    return (cudaError_t)result;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecMemsetNodeSetParams,
            RT_REQUIRE(pNodeParams, exec_set_memset(hGraphExec, node, pNodeParams)));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecHostNodeSetParams,
            RT_REQUIRE(pNodeParams, DRV(cuGraphExecHostNodeSetParams)(hGraphExec, node,
                                                                      (const CUDA_HOST_NODE_PARAMS *)pNodeParams)));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecChildGraphNodeSetParams,
            DRV(cuGraphExecChildGraphNodeSetParams)(hGraphExec, node, childGraph));
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecEventRecordNodeSetEvent,
            DRV(cuGraphExecEventRecordNodeSetEvent)(hGraphExec, hNode, event));
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecEventWaitNodeSetEvent,
            DRV(cuGraphExecEventWaitNodeSetEvent)(hGraphExec, hNode, event));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    RT_CALL(RT_CONTEXT, cudaGraphNodeSetEnabled, DRV(cuGraphNodeSetEnabled)(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
    RT_CALL(RT_CONTEXT, cudaGraphNodeGetEnabled,
            RT_REQUIRE(isEnabled, DRV(cuGraphNodeGetEnabled)(hGraphExec, hNode, isEnabled)));
}

static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                            const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams converted;
    cudaError_t result = rt_node_to_driver(params, &converted);
    if (result == cudaSuccess)
        result = (cudaError_t)DRV(cuGraphAddNode)(node, graph, dependencies, (const CUgraphEdgeData *)edges, count,
                                                  &converted);
    if (result == cudaSuccess)
        rt_node_answer(&converted, params);
    return result;
}

cudaError_t rt_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
    RT_SYMBOL(RT_NAME_V2("cudaGraphAddNode"));

cudaError_t rt_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    RT_CALL_NAMED(RT_CONTEXT, RT_NAME_V2("cudaGraphAddNode"),
                  RT_REQUIRE(params, add_node(node, graph, dependencies, edges, count, params)));
}

#if RT_MAJOR == 12
cudaError_t rt_graph_add_node_v1(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 size_t count, struct cudaGraphNodeParams *params) RT_SYMBOL("cudaGraphAddNode");

cudaError_t rt_graph_add_node_v1(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 size_t count, struct cudaGraphNodeParams *params)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaGraphAddNode",
                  RT_REQUIRE(params, add_node(node, graph, dependencies, NULL, count, params)));
}
#endif

static cudaError_t set_node(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams converted;
    cudaError_t result = rt_node_to_driver(params, &converted);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)(exec ? DRV(cuGraphExecNodeSetParams)(exec, node, &converted)
                              : DRV(cuGraphNodeSetParams)(node, &converted));
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphNodeSetParams, RT_REQUIRE(nodeParams, set_node(NULL, node, nodeParams)));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *nodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphExecNodeSetParams,
            RT_REQUIRE(graphExec && nodeParams, set_node(graphExec, node, nodeParams)));
}
