// Graphs of operations: one kernel each, whose cost is that of their convolutions, products and attention and of the
// tensors that they read and write in memory.
#ifndef GW_SIMGPU_DNN_GRAPH_H
#define GW_SIMGPU_DNN_GRAPH_H

#include "tests/simgpu/dnn/conv.h"
#include "tests/simgpu/dnn/descriptor.h"

// The graph, a CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, as a kernel whose name is written to `name`.
// CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN: an operation whose arithmetic is not known here; CUDNN_STATUS_BAD_PARAM: an
// attribute is missing.
cudnnStatus_t graph_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], const struct descriptor *graph);

#endif
