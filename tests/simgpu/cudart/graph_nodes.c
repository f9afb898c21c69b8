/* Nodes of graphs: adding them, reading and changing their parameters. */
#include "copy.h"
#include "graph_convert.h"

static cudaError_t add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t result = rt_kernel_node_to_driver(params, &converted);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)DRV(cuGraphAddKernelNode)(node, graph, dependencies, count, &converted);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddKernelNode,
            RT_REQUIRE(pNodeParams, add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams)));
}

static cudaError_t get_kernel_params(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS found = {0};
    CUresult result = DRV(cuGraphKernelNodeGetParams)(node, &found);
    if (result == CUDA_SUCCESS)
        rt_kernel_node_from_driver(&found, params);
    return (cudaError_t)result;
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphKernelNodeGetParams, RT_REQUIRE(pNodeParams, get_kernel_params(node, pNodeParams)));
}

static cudaError_t set_kernel_params(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t result = rt_kernel_node_to_driver(params, &converted);
    return result == cudaSuccess ? (cudaError_t)DRV(cuGraphKernelNodeSetParams)(node, &converted) : result;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphKernelNodeSetParams, RT_REQUIRE(pNodeParams, set_kernel_params(node, pNodeParams)));
}

/* 12 named the parameters the other way round; the order of the arguments is the driver's in both. */
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    RT_CALL(RT_CONTEXT, cudaGraphKernelNodeCopyAttributes, DRV(cuGraphKernelNodeCopyAttributes)(hDst, hSrc));
}

cudaError_t rt_kernel_node_get_attribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                         cudaLaunchAttributeValue *value) RT_SYMBOL("cudaGraphKernelNodeGetAttribute");
cudaError_t rt_kernel_node_set_attribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                         const cudaLaunchAttributeValue *value)
    RT_SYMBOL("cudaGraphKernelNodeSetAttribute");

cudaError_t rt_kernel_node_get_attribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                         cudaLaunchAttributeValue *value)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaGraphKernelNodeGetAttribute",
                  RT_REQUIRE(value, DRV(cuGraphKernelNodeGetAttribute)(node, (CUlaunchAttributeID)attribute,
                                                                       (CUlaunchAttributeValue *)value)));
}

cudaError_t rt_kernel_node_set_attribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                         const cudaLaunchAttributeValue *value)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaGraphKernelNodeSetAttribute",
                  RT_REQUIRE(value, DRV(cuGraphKernelNodeSetAttribute)(node, (CUlaunchAttributeID)attribute,
                                                                       (const CUlaunchAttributeValue *)value)));
}

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    CUcontext context;
    CUresult result = rt_copy_3d_to_driver(params, &copy);
    if (result == CUDA_SUCCESS)
        result = rt_graph_context(&context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuGraphAddMemcpyNode)(node, graph, dependencies, count, &copy, context);
    return (cudaError_t)result;
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies, const struct cudaMemcpy3DParms *pCopyParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddMemcpyNode,
            RT_REQUIRE(pCopyParams, add_copy(pGraphNode, graph, pDependencies, numDependencies, pCopyParams)));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
                                     const void *src, size_t count, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params = rt_copy_1d(dst, src, count, kind);
    RT_CALL(RT_CONTEXT, cudaGraphAddMemcpyNode1D, add_copy(pGraphNode, graph, pDependencies, numDependencies, &params));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                           const void *symbol, const void *src, size_t count, size_t offset,
                                           enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphAddMemcpyNodeToSymbol,
            (found = rt_copy_to_symbol(symbol, src, count, offset, kind, &params)) == cudaSuccess
                ? add_copy(pGraphNode, graph, pDependencies, numDependencies, &params)
                : found);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
                                             const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphAddMemcpyNodeFromSymbol,
            (found = rt_copy_from_symbol(dst, symbol, count, offset, kind, &params)) == cudaSuccess
                ? add_copy(pGraphNode, graph, pDependencies, numDependencies, &params)
                : found);
}

static cudaError_t get_copy(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    CUresult result = DRV(cuGraphMemcpyNodeGetParams)(node, &copy);
    return (cudaError_t)(result == CUDA_SUCCESS ? rt_copy_3d_from_driver(&copy, params) : result);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemcpyNodeGetParams, RT_REQUIRE(pNodeParams, get_copy(node, pNodeParams)));
}

static cudaError_t set_copy(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    CUresult result = rt_copy_3d_to_driver(params, &copy);
    return (cudaError_t)(result == CUDA_SUCCESS ? DRV(cuGraphMemcpyNodeSetParams)(node, &copy) : result);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemcpyNodeSetParams, RT_REQUIRE(pNodeParams, set_copy(node, pNodeParams)));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count,
                                           enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params = rt_copy_1d(dst, src, count, kind);
    RT_CALL(RT_CONTEXT, cudaGraphMemcpyNodeSetParams1D, set_copy(node, &params));
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src,
                                                 size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphMemcpyNodeSetParamsToSymbol,
            (found = rt_copy_to_symbol(symbol, src, count, offset, kind, &params)) == cudaSuccess
                ? set_copy(node, &params)
                : found);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol, size_t count,
                                                   size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    cudaError_t found;
    RT_CALL(RT_CONTEXT, cudaGraphMemcpyNodeSetParamsFromSymbol,
            (found = rt_copy_from_symbol(dst, symbol, count, offset, kind, &params)) == cudaSuccess
                ? set_copy(node, &params)
                : found);
}

static cudaError_t add_memset(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, const struct cudaMemsetParams *params)
{
    CUDA_MEMSET_NODE_PARAMS converted = rt_memset_node_to_driver(params);
    CUcontext context;
    CUresult result = rt_graph_context(&context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuGraphAddMemsetNode)(node, graph, dependencies, count, &converted, context);
    return (cudaError_t)result;
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies, const struct cudaMemsetParams *pMemsetParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddMemsetNode,
            RT_REQUIRE(pMemsetParams, add_memset(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams)));
}

static cudaError_t get_memset(cudaGraphNode_t node, struct cudaMemsetParams *params)
{
    CUDA_MEMSET_NODE_PARAMS found;
    CUresult result = DRV(cuGraphMemsetNodeGetParams)(node, &found);
    if (result == CUDA_SUCCESS)
        *params = rt_memset_node_from_driver(&found);
    return (cudaError_t)result;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemsetNodeGetParams, RT_REQUIRE(pNodeParams, get_memset(node, pNodeParams)));
}

static cudaError_t set_memset(cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
    CUDA_MEMSET_NODE_PARAMS converted = rt_memset_node_to_driver(params);
    return (cudaError_t)DRV(cuGraphMemsetNodeSetParams)(node, &converted);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemsetNodeSetParams, RT_REQUIRE(pNodeParams, set_memset(node, pNodeParams)));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                 size_t numDependencies, const struct cudaHostNodeParams *pNodeParams)
{
    _Static_assert(sizeof *pNodeParams == sizeof(CUDA_HOST_NODE_PARAMS), "both have the same layout");
    RT_CALL(RT_CONTEXT, cudaGraphAddHostNode,
            RT_REQUIRE(pNodeParams, DRV(cuGraphAddHostNode)(pGraphNode, graph, pDependencies, numDependencies,
                                                            (const CUDA_HOST_NODE_PARAMS *)pNodeParams)));
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphHostNodeGetParams,
            RT_REQUIRE(pNodeParams, DRV(cuGraphHostNodeGetParams)(node, (CUDA_HOST_NODE_PARAMS *)pNodeParams)));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(RT_CONTEXT, cudaGraphHostNodeSetParams,
            RT_REQUIRE(pNodeParams, DRV(cuGraphHostNodeSetParams)(node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams)));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       cudaGraph_t childGraph)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddChildGraphNode,
            DRV(cuGraphAddChildGraphNode)(pGraphNode, graph, pDependencies, numDependencies, childGraph));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    RT_CALL(RT_CONTEXT, cudaGraphChildGraphNodeGetGraph,
            RT_REQUIRE(pGraph, DRV(cuGraphChildGraphNodeGetGraph)(node, pGraph)));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                  size_t numDependencies)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddEmptyNode,
            DRV(cuGraphAddEmptyNode)(pGraphNode, graph, pDependencies, numDependencies));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddEventRecordNode,
            DRV(cuGraphAddEventRecordNode)(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    RT_CALL(RT_CONTEXT, cudaGraphEventRecordNodeGetEvent,
            RT_REQUIRE(event_out, DRV(cuGraphEventRecordNodeGetEvent)(node, event_out)));
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphEventRecordNodeSetEvent, DRV(cuGraphEventRecordNodeSetEvent)(node, event));
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddEventWaitNode,
            DRV(cuGraphAddEventWaitNode)(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    RT_CALL(RT_CONTEXT, cudaGraphEventWaitNodeGetEvent,
            RT_REQUIRE(event_out, DRV(cuGraphEventWaitNodeGetEvent)(node, event_out)));
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaGraphEventWaitNodeSetEvent, DRV(cuGraphEventWaitNodeSetEvent)(node, event));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     struct cudaMemAllocNodeParams *nodeParams)
{
    _Static_assert(sizeof *nodeParams == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "both have the same layout");
    RT_CALL(RT_CONTEXT, cudaGraphAddMemAllocNode,
            RT_REQUIRE(nodeParams, DRV(cuGraphAddMemAllocNode)(pGraphNode, graph, pDependencies, numDependencies,
                                                               (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams)));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemAllocNodeGetParams,
            RT_REQUIRE(params_out, DRV(cuGraphMemAllocNodeGetParams)(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out)));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
    RT_CALL(RT_CONTEXT, cudaGraphAddMemFreeNode,
            DRV(cuGraphAddMemFreeNode)(pGraphNode, graph, pDependencies, numDependencies, (CUdeviceptr)dptr));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    RT_CALL(RT_CONTEXT, cudaGraphMemFreeNodeGetParams,
            RT_REQUIRE(dptr_out, DRV(cuGraphMemFreeNodeGetParams)(node, (CUdeviceptr *)dptr_out)));
}
