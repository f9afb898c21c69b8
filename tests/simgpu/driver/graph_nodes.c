// The nodes of a graph by kind: adding them, reading and changing their parameters.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/graph.h"

CUresult work_from_kernel_params(struct work *work, const CUDA_KERNEL_NODE_PARAMS *given)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned grid[3] = {given->gridDimX, given->gridDimY, given->gridDimZ};
    const unsigned block[3] = {given->blockDimX, given->blockDimY, given->blockDimZ};
    CUfunction function = given->func ? given->func : (CUfunction)given->kern;
    const CUresult result =
        work_kernel(work, function, grid, block, given->sharedMemBytes, given->kernelParams, given->extra);
    if (!result)
        work->kernel.context = given->ctx ? given->ctx : context_current();
    return result;
}

// The number and sizes of a kernel's arguments are not known here. What is handed out is a long array of places that
// may be read; the first is the argument of a spin kernel.
static void give_kernel_params(const struct kernel_work *kernel, CUDA_KERNEL_NODE_PARAMS *ret)
{
    enum { PLACES = 256 };
    static char nothing[4096];
    static void *places[64][PLACES];
    static unsigned turn;
    static uint64_t first[64];
    const unsigned at = turn++ % 64;
    first[at] = kernel->spin_ns;
    for (unsigned i = 0; i < PLACES; i++)
        places[at][i] = nothing;
    places[at][0] = &first[at];
    *ret = (CUDA_KERNEL_NODE_PARAMS){.func = kernel->function,
                                     .gridDimX = kernel->grid[0],
                                     .gridDimY = kernel->grid[1],
                                     .gridDimZ = kernel->grid[2],
                                     .blockDimX = kernel->block[0],
                                     .blockDimY = kernel->block[1],
                                     .blockDimZ = kernel->block[2],
                                     .sharedMemBytes = kernel->shared_bytes,
                                     .kernelParams = places[at],
                                     .ctx = kernel->context};
}

static struct work host_work(const CUDA_HOST_NODE_PARAMS *given)
{
    return (struct work){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {given->fn, given->userData}};
}

static CUresult work_from_child(struct work *work, CUgraph child)
{
    if (!IS(child, MAGIC_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = graph_clone(child)};
    work->child->is_child = true;
    return CUDA_SUCCESS;
}

// The child itself, with the handles of its nodes, as the parent's from now on.
static CUresult work_from_moved(struct work *work, CUgraph child)
{
    if (!IS(child, MAGIC_GRAPH) || child->is_child)
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
    child->is_child = true;
    return CUDA_SUCCESS;
}

static CUresult work_from_event(struct work *work, CUgraphNodeType type, CUevent event)
{
    if (!IS(event, MAGIC_EVENT))
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = type, .event = event};
    return CUDA_SUCCESS;
}

static CUresult work_from_alloc(struct work *work, const CUDA_MEM_ALLOC_NODE_PARAMS *given)
{
    if (!given || !given->bytesize || given->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        given->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = *given};
    work->alloc.dptr = 0;
    work->alloc.accessDescs = NULL;
    work->alloc.accessDescCount = 0;
    return CUDA_SUCCESS;
}

static CUresult work_from_free(struct work *work, CUdeviceptr address)
{
    const struct range *range = range_find((void *)address);
    if (!range || !range->graph || range->base != address)
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .freed = address};
    return CUDA_SUCCESS;
}

// Work as given by the parameters of cuGraphAdd*Node: adds it.
static CUresult add(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before, size_t count, struct work *work,
                    CUresult result)
{
    if (!result && !ret_node)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = graph_add(graph, work, before, count, ret_node);
    if (result)
        work_clear(work);
    return result;
}

// Runs `make` with a context current where the caller names one, because addresses are checked in it.
static CUresult in_context(CUcontext context, CUresult (*make)(struct work *, const void *), struct work *work,
                           const void *given)
{
    if (!given || (context && !IS(context, MAGIC_CONTEXT)))
        return given ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    if (!context && !context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        sim_thread.contexts[sim_thread.context_count++] = context;
    const CUresult result = make(work, given);
    if (context)
        sim_thread.context_count--;
    return result;
}

static CUresult make_copy(struct work *work, const void *given)
{
    return work_copy(work, given);
}

static CUresult make_set(struct work *work, const void *given)
{
    return work_set(work, given);
}

CUresult work_from_node_params(struct work *work, const CUgraphNodeParams *given)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &given->kernel;
        const CUDA_KERNEL_NODE_PARAMS parameters = {.func = kernel->func,
                                                    .gridDimX = kernel->gridDimX,
                                                    .gridDimY = kernel->gridDimY,
                                                    .gridDimZ = kernel->gridDimZ,
                                                    .blockDimX = kernel->blockDimX,
                                                    .blockDimY = kernel->blockDimY,
                                                    .blockDimZ = kernel->blockDimZ,
                                                    .sharedMemBytes = kernel->sharedMemBytes,
                                                    .kernelParams = kernel->kernelParams,
                                                    .extra = kernel->extra,
                                                    .kern = kernel->kern,
                                                    .ctx = kernel->ctx};
        return work_from_kernel_params(work, &parameters);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return in_context(given->memcpy.copyCtx, make_copy, work, &given->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS_v2 *set = &given->memset;
        const CUDA_MEMSET_NODE_PARAMS parameters = {.dst = set->dst,
                                                    .pitch = set->pitch,
                                                    .value = set->value,
                                                    .elementSize = set->elementSize,
                                                    .width = set->width,
                                                    .height = set->height};
        return in_context(set->ctx, make_set, work, &parameters);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        *work = (struct work){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {given->host.fn, given->host.userData}};
        return given->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_GRAPH:
#if CUDA_VERSION >= 12090
        if (given->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
            return work_from_moved(work, given->graph.graph);
#endif
        return work_from_child(work, given->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *work = (struct work){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return work_from_event(work, given->type, given->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return work_from_event(work, given->type, given->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        const CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.poolProps = given->alloc.poolProps,
                                                  .bytesize = given->alloc.bytesize};
        return work_from_alloc(work, &alloc);
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return work_from_free(work, given->free.dptr);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                           const CUDA_KERNEL_NODE_PARAMS *given)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, work_from_kernel_params(&work, given));
}

static CUresult add_kernel_v1(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    if (given)
        memcpy(&parameters, given, sizeof *given);
    return add_kernel(node, graph, before, count, given ? &parameters : NULL);
}

static CUresult add_copy(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                         const CUDA_MEMCPY3D *given, CUcontext context)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, in_context(context, make_copy, &work, given));
}

static CUresult add_set(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                        const CUDA_MEMSET_NODE_PARAMS *given, CUcontext context)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, in_context(context, make_set, &work, given));
}

static CUresult add_host(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                         const CUDA_HOST_NODE_PARAMS *given)
{
    if (!given || !given->fn)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = host_work(given);
    return add(node, graph, before, count, &work, CUDA_SUCCESS);
}

static CUresult add_child(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUgraph child)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, work_from_child(&work, child));
}

static CUresult add_empty(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count)
{
    struct work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add(node, graph, before, count, &work, CUDA_SUCCESS);
}

static CUresult add_event(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                          CUgraphNodeType type, CUevent event)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, work_from_event(&work, type, event));
}

static CUresult add_alloc(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                          CUDA_MEM_ALLOC_NODE_PARAMS *given)
{
    struct work work = {0};
    const CUresult result = add(node, graph, before, count, &work, work_from_alloc(&work, given));
    if (!result)
        given->dptr = (*node)->work.alloc.dptr;
    return result;
}

static CUresult add_free(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUdeviceptr address)
{
    struct work work = {0};
    return add(node, graph, before, count, &work, work_from_free(&work, address));
}

static CUresult add_any(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                        CUgraphNodeParams *given)
{
    struct work work = {0};
    CUresult result = CUDA_SUCCESS;
    if (given && given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        result = work_from_conditional(&work, &given->conditional);
    else
        result = work_from_node_params(&work, given);
    result = add(node, graph, before, count, &work, result);
    if (!result && given->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        given->alloc.dptr = (*node)->work.alloc.dptr;
    else if (!result && given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        given->conditional.phGraph_out = (*node)->work.conditional.bodies;
    return result;
}

#define TO_GRAPH CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies
#define PLACE phGraphNode, hGraph, dependencies, numDependencies

ENTRY(NEED_INIT, cuGraphAddKernelNode, (TO_GRAPH, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
      add_kernel_v1(PLACE, nodeParams))
ENTRY(NEED_INIT, cuGraphAddKernelNode_v2, (TO_GRAPH, const CUDA_KERNEL_NODE_PARAMS *nodeParams),
      add_kernel(PLACE, nodeParams))
ENTRY(NEED_INIT, cuGraphAddMemcpyNode, (TO_GRAPH, const CUDA_MEMCPY3D *copyParams, CUcontext ctx),
      add_copy(PLACE, copyParams, ctx))
ENTRY(NEED_INIT, cuGraphAddMemsetNode, (TO_GRAPH, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx),
      add_set(PLACE, memsetParams, ctx))
ENTRY(NEED_INIT, cuGraphAddHostNode, (TO_GRAPH, const CUDA_HOST_NODE_PARAMS *nodeParams), add_host(PLACE, nodeParams))
ENTRY(NEED_INIT, cuGraphAddChildGraphNode, (TO_GRAPH, CUgraph childGraph), add_child(PLACE, childGraph))
ENTRY(NEED_INIT, cuGraphAddEmptyNode, (TO_GRAPH), add_empty(PLACE))
ENTRY(NEED_INIT, cuGraphAddEventRecordNode, (TO_GRAPH, CUevent event),
      add_event(PLACE, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event))
ENTRY(NEED_INIT, cuGraphAddEventWaitNode, (TO_GRAPH, CUevent event),
      add_event(PLACE, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event))
ENTRY(NEED_INIT, cuGraphAddMemAllocNode, (TO_GRAPH, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams),
      add_alloc(PLACE, nodeParams))
ENTRY(NEED_INIT, cuGraphAddMemFreeNode, (TO_GRAPH, CUdeviceptr dptr), add_free(PLACE, dptr))
ENTRY(NEED_INIT, cuGraphAddNode, (TO_GRAPH, CUgraphNodeParams *nodeParams), add_any(PLACE, nodeParams))
ENTRY(NEED_INIT, cuGraphAddNode_v2,
      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams),
      ((void)dependencyData, add_any(PLACE, nodeParams)))

#define IS_NODE(node, kind) (IS(node, MAGIC_NODE) && (node)->work.type == (kind))

// Reading: `found` is the work of the node if it is of the kind; the result goes to *ret.
#define NODE_GETTER(name, kind, type, statement)                                                                       \
    static CUresult name(CUgraphNode node, type *ret)                                                                  \
    {                                                                                                                  \
        if (!IS_NODE(node, kind) || !ret)                                                                              \
            return CUDA_ERROR_INVALID_VALUE;                                                                           \
        const struct work *found = &node->work;                                                                        \
        statement;                                                                                                     \
        return CUDA_SUCCESS;                                                                                           \
    }

NODE_GETTER(get_kernel, CU_GRAPH_NODE_TYPE_KERNEL, CUDA_KERNEL_NODE_PARAMS, give_kernel_params(&found->kernel, ret))
NODE_GETTER(get_copy, CU_GRAPH_NODE_TYPE_MEMCPY, CUDA_MEMCPY3D, *ret = found->copy.parameters)
NODE_GETTER(get_set, CU_GRAPH_NODE_TYPE_MEMSET, CUDA_MEMSET_NODE_PARAMS, *ret = found->set.parameters)
NODE_GETTER(get_host, CU_GRAPH_NODE_TYPE_HOST, CUDA_HOST_NODE_PARAMS,
            *ret = ((CUDA_HOST_NODE_PARAMS){found->host.function, found->host.argument}))
NODE_GETTER(get_child, CU_GRAPH_NODE_TYPE_GRAPH, CUgraph, *ret = found->child)
NODE_GETTER(get_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CUevent, *ret = found->event)
NODE_GETTER(get_wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUevent, *ret = found->event)
NODE_GETTER(get_alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS, *ret = found->alloc)
NODE_GETTER(get_free, CU_GRAPH_NODE_TYPE_MEM_FREE, CUdeviceptr, *ret = found->freed)

static CUresult get_kernel_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
    CUDA_KERNEL_NODE_PARAMS parameters;
    const CUresult result = ret ? get_kernel(node, &parameters) : CUDA_ERROR_INVALID_VALUE;
    if (!result)
        memcpy(ret, &parameters, sizeof *ret);
    return result;
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *ret)
{
    if (!IS(node, MAGIC_NODE) || !ret)
        return CUDA_ERROR_INVALID_VALUE;
    *ret = node->work.type;
    return CUDA_SUCCESS;
}

// Changing: the new work replaces the old if it is of the same kind.
static CUresult set(CUgraphNode node, struct work *work, CUresult result)
{
    if (!result && !IS_NODE(node, work->type))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result) {
        work_clear(work);
        return result;
    }
    work_clear(&node->work);
    node->work = *work;
    return CUDA_SUCCESS;
}

static CUresult set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *given)
{
    struct work work = {0};
    return set(node, &work, work_from_kernel_params(&work, given));
}

static CUresult set_kernel_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    if (given)
        memcpy(&parameters, given, sizeof *given);
    return set_kernel(node, given ? &parameters : NULL);
}

static CUresult set_copy(CUgraphNode node, const CUDA_MEMCPY3D *given)
{
    struct work work = {0};
    CUcontext context = IS_NODE(node, CU_GRAPH_NODE_TYPE_MEMCPY) ? node->work.copy.context : NULL;
    return set(node, &work, in_context(context, make_copy, &work, given));
}

static CUresult set_set(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *given)
{
    struct work work = {0};
    CUcontext context = IS_NODE(node, CU_GRAPH_NODE_TYPE_MEMSET) ? node->work.set.context : NULL;
    return set(node, &work, in_context(context, make_set, &work, given));
}

static CUresult set_host(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *given)
{
    if (!given || !given->fn)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = host_work(given);
    return set(node, &work, CUDA_SUCCESS);
}

static CUresult set_event(CUgraphNode node, CUgraphNodeType type, CUevent event)
{
    struct work work = {0};
    return set(node, &work, work_from_event(&work, type, event));
}

static CUresult set_any(CUgraphNode node, const CUgraphNodeParams *given)
{
    struct work work = {0};
    return set(node, &work, work_from_node_params(&work, given));
}

ENTRY(NEED_INIT, cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType *type), get_type(hNode, type))
ENTRY(NEED_INIT, cuGraphKernelNodeGetParams, (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
      get_kernel_v1(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphKernelNodeGetParams_v2, (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams),
      get_kernel(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphKernelNodeSetParams, (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
      set_kernel_v1(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphKernelNodeSetParams_v2, (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams),
      set_kernel(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphMemcpyNodeGetParams, (CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams),
      get_copy(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphMemcpyNodeSetParams, (CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams),
      set_copy(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphMemsetNodeGetParams, (CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams),
      get_set(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphMemsetNodeSetParams, (CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams),
      set_set(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphHostNodeGetParams, (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams),
      get_host(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphHostNodeSetParams, (CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams),
      set_host(hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphChildGraphNodeGetGraph, (CUgraphNode hNode, CUgraph *phGraph), get_child(hNode, phGraph))
ENTRY(NEED_INIT, cuGraphEventRecordNodeGetEvent, (CUgraphNode hNode, CUevent *event_out), get_record(hNode, event_out))
ENTRY(NEED_INIT, cuGraphEventRecordNodeSetEvent, (CUgraphNode hNode, CUevent event),
      set_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event))
ENTRY(NEED_INIT, cuGraphEventWaitNodeGetEvent, (CUgraphNode hNode, CUevent *event_out), get_wait(hNode, event_out))
ENTRY(NEED_INIT, cuGraphEventWaitNodeSetEvent, (CUgraphNode hNode, CUevent event),
      set_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event))
ENTRY(NEED_INIT, cuGraphMemAllocNodeGetParams, (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out),
      get_alloc(hNode, params_out))
ENTRY(NEED_INIT, cuGraphMemFreeNodeGetParams, (CUgraphNode hNode, CUdeviceptr *dptr_out), get_free(hNode, dptr_out))
ENTRY(NEED_INIT, cuGraphNodeSetParams, (CUgraphNode hNode, CUgraphNodeParams *nodeParams), set_any(hNode, nodeParams))

// Kernel attributes change nothing here.
ENTRY(NEED_INIT, cuGraphKernelNodeSetAttribute,
      (CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value),
      ((void)attr, IS_NODE(hNode, CU_GRAPH_NODE_TYPE_KERNEL) && value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
ENTRY(NEED_INIT, cuGraphKernelNodeGetAttribute,
      (CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out),
      ((void)attr, IS_NODE(hNode, CU_GRAPH_NODE_TYPE_KERNEL) && value_out
                       ? (memset(value_out, 0, sizeof *value_out), CUDA_SUCCESS)
                       : CUDA_ERROR_INVALID_VALUE))
ENTRY(NEED_INIT, cuGraphKernelNodeCopyAttributes, (CUgraphNode dst, CUgraphNode src),
      IS_NODE(dst, CU_GRAPH_NODE_TYPE_KERNEL) && IS_NODE(src, CU_GRAPH_NODE_TYPE_KERNEL) ? CUDA_SUCCESS
                                                                                         : CUDA_ERROR_INVALID_VALUE)
