/* Parameters of graph nodes turned into the driver's and back. */
#include <string.h>

#include "copy.h"
#include "graph_convert.h"
#include "register.h"

CUresult rt_graph_context(CUcontext *ret_context)
{
    return DRV(cuCtxGetCurrent)(ret_context);
}

cudaError_t rt_kernel_node_to_driver(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *ret_node)
{
    CUkernel kernel;
    cudaError_t result = rt_kernel(params->func, &kernel);
    if (result != cudaSuccess)
        return result;
    *ret_node = (CUDA_KERNEL_NODE_PARAMS){
        .kern = kernel,
        .gridDimX = params->gridDim.x,
        .gridDimY = params->gridDim.y,
        .gridDimZ = params->gridDim.z,
        .blockDimX = params->blockDim.x,
        .blockDimY = params->blockDim.y,
        .blockDimZ = params->blockDim.z,
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams,
        .extra = params->extra,
    };
    return cudaSuccess;
}

void rt_kernel_node_from_driver(const CUDA_KERNEL_NODE_PARAMS *node, struct cudaKernelNodeParams *ret_params)
{
    CUkernel kernel = node->kern ? node->kern : (CUkernel)node->func;
    *ret_params = (struct cudaKernelNodeParams){
        .func = rt_kernel_symbol(kernel),
        .gridDim = {node->gridDimX, node->gridDimY, node->gridDimZ},
        .blockDim = {node->blockDimX, node->blockDimY, node->blockDimZ},
        .sharedMemBytes = node->sharedMemBytes,
        .kernelParams = node->kernelParams,
        .extra = node->extra,
    };
}

CUDA_MEMSET_NODE_PARAMS rt_memset_node_to_driver(const struct cudaMemsetParams *params)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = (CUdeviceptr)params->dst,
        .pitch = params->pitch,
        .value = params->value,
        .elementSize = params->elementSize,
        .width = params->width,
        .height = params->height,
    };
}

struct cudaMemsetParams rt_memset_node_from_driver(const CUDA_MEMSET_NODE_PARAMS *node)
{
    return (struct cudaMemsetParams){
        .dst = rt_pointer(node->dst),
        .pitch = node->pitch,
        .value = node->value,
        .elementSize = node->elementSize,
        .width = node->width,
        .height = node->height,
    };
}

cudaError_t rt_copy_to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                              enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *ret_params)
{
    void *target;
    cudaError_t result = rt_variable_range(symbol, count, offset, &target);
    if (result == cudaSuccess)
        *ret_params = rt_copy_1d(target, source, count, kind);
    return result;
}

cudaError_t rt_copy_from_symbol(void *target, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                struct cudaMemcpy3DParms *ret_params)
{
    void *source;
    cudaError_t result = rt_variable_range(symbol, count, offset, &source);
    if (result == cudaSuccess)
        *ret_params = rt_copy_1d(target, source, count, kind);
    return result;
}

static cudaError_t kernel_to_driver(const struct cudaGraphNodeParams *params, CUgraphNodeParams *node)
{
    CUkernel kernel;
    cudaError_t result = rt_kernel(params->kernel.func, &kernel);
    if (result != cudaSuccess)
        return result;
    node->kernel.kern = kernel;
    node->kernel.gridDimX = params->kernel.gridDim.x;
    node->kernel.gridDimY = params->kernel.gridDim.y;
    node->kernel.gridDimZ = params->kernel.gridDim.z;
    node->kernel.blockDimX = params->kernel.blockDim.x;
    node->kernel.blockDimY = params->kernel.blockDim.y;
    node->kernel.blockDimZ = params->kernel.blockDim.z;
    node->kernel.sharedMemBytes = params->kernel.sharedMemBytes;
    node->kernel.kernelParams = params->kernel.kernelParams;
    node->kernel.extra = params->kernel.extra;
    return cudaSuccess;
}

cudaError_t rt_node_to_driver(const struct cudaGraphNodeParams *params, CUgraphNodeParams *ret_node)
{
    CUgraphNodeParams node = {.type = (CUgraphNodeType)params->type};
    cudaError_t result = cudaSuccess;
    _Static_assert(sizeof node == sizeof *params, "both are 256 bytes with the union at the same place");

    switch (params->type) {
    case cudaGraphNodeTypeKernel:
        result = kernel_to_driver(params, &node);
        break;
    case cudaGraphNodeTypeMemcpy:
        result = (cudaError_t)rt_copy_3d_to_driver(&params->memcpy.copyParams, &node.memcpy.copyParams);
        if (result == cudaSuccess)
            result = (cudaError_t)rt_graph_context(&node.memcpy.copyCtx);
        break;
    case cudaGraphNodeTypeMemset:
        node.memset.dst = (CUdeviceptr)params->memset.dst;
        node.memset.pitch = params->memset.pitch;
        node.memset.value = params->memset.value;
        node.memset.elementSize = params->memset.elementSize;
        node.memset.width = params->memset.width;
        node.memset.height = params->memset.height;
        result = (cudaError_t)rt_graph_context(&node.memset.ctx);
        break;
    default:
        /* The others have one layout in both interfaces. */
        memcpy(&node, params, sizeof node);
        break;
    }
    if (result == cudaSuccess)
        *ret_node = node;
    return result;
}

void rt_node_answer(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params)
{
    if (params->type == cudaGraphNodeTypeMemAlloc)
        params->alloc.dptr = rt_pointer(node->alloc.dptr);
    else if (params->type == cudaGraphNodeTypeConditional)
        params->conditional.phGraph_out = node->conditional.phGraph_out;
}
