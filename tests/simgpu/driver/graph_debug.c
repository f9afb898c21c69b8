// A graph as a drawing for graphviz, and the memory account of graphs.
#include <stdio.h>

#include "tests/simgpu/driver/graph.h"

static const char *type_name(CUgraphNodeType type)
{
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
        return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return "GRAPH";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return "CONDITIONAL";
    default:
        return "EMPTY";
    }
}

static void print_nodes(FILE *file, const struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        const char *name = node->work.type == CU_GRAPH_NODE_TYPE_KERNEL ? node->work.kernel.function->name : "";
        fprintf(file, "  n%llu [label=\"%s %s\"];\n", (unsigned long long)node->id, type_name(node->work.type), name);
        for (size_t j = 0; j < node->after.count; j++)
            fprintf(file, "  n%llu -> n%llu;\n", (unsigned long long)node->id,
                    (unsigned long long)node->after.nodes[j]->id);
        if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
            print_nodes(file, node->work.child);
        for (unsigned j = 0; node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && j < node->work.conditional.size; j++)
            print_nodes(file, node->work.conditional.bodies[j]);
    }
}

static CUresult print(CUgraph graph, const char *path)
{
    if (!IS(graph, MAGIC_GRAPH) || !path)
        return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "we");
    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    fputs("digraph graph_1 {\n", file);
    print_nodes(file, graph);
    fputs("}\n", file);
    return fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

ENTRY(NEED_INIT, cuGraphDebugDotPrint, (CUgraph hGraph, const char *path, unsigned flags),
      ((void)flags, print(hGraph, path)))

struct account {
    const struct device *device;
    uint64_t bytes;
};

static void count_range(struct range *range, void *argument)
{
    struct account *account = argument;
    if (range->graph && range->device == account->device)
        account->bytes += range->size;
}

static CUresult get_attribute(CUdevice index, CUgraphMem_attribute attribute, void *value)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    struct account account = {.device = device};
    range_for_each(count_range, &account);
    *(cuuint64_t *)value = account.bytes;
    return CUDA_SUCCESS;
}

// Only high-water marks can be set, and only to 0; they are not kept apart from the current account.
static CUresult set_attribute(CUdevice index, CUgraphMem_attribute attribute, const void *value)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result)
        return result;
    return value && *(const cuuint64_t *)value == 0 &&
                   (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult trim(CUdevice index)
{
    struct device *device;
    return context_device_index(index, &device);
}

ENTRY(NEED_INIT, cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void *value),
      get_attribute(device, attr, value))
ENTRY(NEED_INIT, cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void *value),
      set_attribute(device, attr, value))
ENTRY(NEED_INIT, cuDeviceGraphMemTrim, (CUdevice device), trim(device))
