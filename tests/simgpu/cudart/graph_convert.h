/* Parameters of graph nodes: the runtime's descriptions turned into the driver's and back. */
#ifndef SIMGPU_CUDART_GRAPH_CONVERT_H
#define SIMGPU_CUDART_GRAPH_CONVERT_H

#include "runtime.h"

/* The context in which copy and memset nodes run: the current one. */
CUresult rt_graph_context(CUcontext *ret_context);

cudaError_t rt_kernel_node_to_driver(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *ret_node);
void rt_kernel_node_from_driver(const CUDA_KERNEL_NODE_PARAMS *node, struct cudaKernelNodeParams *ret_params);

CUDA_MEMSET_NODE_PARAMS rt_memset_node_to_driver(const struct cudaMemsetParams *params);
struct cudaMemsetParams rt_memset_node_from_driver(const CUDA_MEMSET_NODE_PARAMS *node);

/* A copy of COUNT bytes to or from OFFSET into a registered variable. */
cudaError_t rt_copy_to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                              enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *ret_params);
cudaError_t rt_copy_from_symbol(void *target, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                struct cudaMemcpy3DParms *ret_params);

/* The general description of a node. What the driver answers in it goes back with rt_node_answer. */
cudaError_t rt_node_to_driver(const struct cudaGraphNodeParams *params, CUgraphNodeParams *ret_node);
void rt_node_answer(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params);

#endif
