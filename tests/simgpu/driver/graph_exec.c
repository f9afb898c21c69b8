// Executable graphs: instantiation, update, launch.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/graph.h"
#include "tests/simgpu/engine/clock.h"

struct index_set {
    unsigned *at;
    unsigned count;
};

static void index_set_add(struct index_set *set, unsigned index)
{
    set->at = realloc(set->at, (set->count + 1) * sizeof *set->at);
    if (!set->at)
        abort();
    set->at[set->count++] = index;
}

static unsigned exec_add(struct CUgraphExec_st *exec, const struct CUgraphNode_st *source, const struct work *work,
                         const struct index_set *before)
{
    if (exec->count % 64 == 0) {
        exec->nodes = realloc(exec->nodes, (exec->count + 64) * sizeof *exec->nodes);
        if (!exec->nodes)
            abort();
    }
    struct index_set copy = {0};
    for (unsigned i = 0; i < before->count; i++)
        index_set_add(&copy, before->at[i]);
    exec->nodes[exec->count] = (struct exec_node){.work = *work,
                                                  .source = source,
                                                  .source_graph = source->graph,
                                                  .id = source->id,
                                                  .before = copy.at,
                                                  .before_count = copy.count};
    for (unsigned i = 0; i < before->count; i++)
        exec->nodes[before->at[i]].has_after = true;
    return exec->count++;
}

// Adds the nodes of `graph`, its roots after `outer`. Child graphs, and of a conditional node's bodies the one that
// runs, are laid out in place, with an empty node at their end. Fails on a cycle, with the graph's first node in
// *ret_bad.
static CUresult flatten(struct CUgraphExec_st *exec, const struct CUgraph_st *graph, const struct index_set *outer,
                        struct index_set *ret_leaves, CUgraphNode *ret_bad)
{
    static const struct work empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult result = CUDA_SUCCESS;
    struct CUgraphNode_st **order = graph_order(graph);
    if (!order && graph->nodes.count) {
        *ret_bad = graph->nodes.nodes[0];
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned *place = calloc(graph->nodes.count + 1, sizeof *place);
    if (!place)
        abort();
    for (size_t i = 0; i < graph->nodes.count && !result; i++) {
        const struct CUgraphNode_st *node = order[i];
        struct index_set before = {0}, leaves = {0};
        for (size_t j = 0; j < node->before.count; j++)
            index_set_add(&before, place[node->before.nodes[j]->index]);
        for (unsigned j = 0; !node->before.count && j < outer->count; j++)
            index_set_add(&before, outer->at[j]);
        const bool is_conditional = node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
        if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH || is_conditional) {
            const struct CUgraph_st *inner =
                is_conditional ? conditional_chosen(&node->work.conditional) : node->work.child;
            if (inner)
                result = flatten(exec, inner, &before, &leaves, ret_bad);
            place[node->index] = exec_add(exec, node, &empty, leaves.count ? &leaves : &before);
        } else {
            place[node->index] = exec_add(exec, node, &node->work, &before);
        }
        if (!node->after.count)
            index_set_add(ret_leaves, place[node->index]);
        free(before.at);
        free(leaves.at);
    }
    free(place);
    free(order);
    return result;
}

static void exec_delete(struct CUgraphExec_st *exec)
{
    for (unsigned i = 0; i < exec->count; i++)
        free(exec->nodes[i].before);
    free(exec->nodes);
    graph_memory_unref(exec->memory);
    op_unref(exec->last);
    object_free(exec, sizeof *exec);
}

static CUresult exec_from_graph(const struct CUgraph_st *graph, struct CUgraphExec_st **ret_exec, CUgraphNode *ret_bad)
{
    static uint32_t last_id;
    struct CUgraphExec_st *exec = object_new(MAGIC_EXEC, sizeof *exec);
    exec->id = ++last_id;
    const struct index_set nothing = {0};
    struct index_set leaves = {0};
    exec->memory = graph_memory_ref(graph->memory);
    const CUresult result = flatten(exec, graph, &nothing, &leaves, ret_bad);
    free(leaves.at);
    if (result)
        exec_delete(exec);
    else
        *ret_exec = exec;
    return result;
}

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags, CUgraphNode *ret_bad)
{
    CUgraphNode bad = NULL;
    const unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if (!ret_exec || !IS(graph, MAGIC_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & ~known)
        return flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    const CUresult result = exec_from_graph(graph, ret_exec, &bad);
    if (ret_bad)
        *ret_bad = bad;
    if (result)
        return result;
    (*ret_exec)->flags = flags;
    spend_ns(CONFIG(graph_instantiate_ns_per_node) * (*ret_exec)->count);
    return CUDA_SUCCESS;
}

// As documented for the forms with a log: the text is a string, empty without errors.
static CUresult instantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *bad, char *log, size_t log_size)
{
    if (log && log_size)
        *log = '\0';
    return instantiate(ret_exec, graph, 0, bad);
}

static CUresult instantiate_with(CUgraphExec *ret_exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    if (!parameters)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = instantiate(ret_exec, graph, parameters->flags, &parameters->hErrNode_out);
    parameters->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return result;
}

static CUresult destroy(CUgraphExec exec)
{
    if (!IS(exec, MAGIC_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    exec_delete(exec);
    return CUDA_SUCCESS;
}

static CUresult get_flags(CUgraphExec exec, cuuint64_t *flags)
{
    if (!IS(exec, MAGIC_EXEC) || !flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuGraphInstantiate,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize),
      instantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
ENTRY(NEED_CONTEXT, cuGraphInstantiate_v2,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize),
      instantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
ENTRY(NEED_CONTEXT, cuGraphInstantiateWithFlags, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
      instantiate(phGraphExec, hGraph, flags, NULL))
ENTRY_STREAM(NEED_CONTEXT, cuGraphInstantiateWithParams, _ptsz,
             (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
             instantiate_with(phGraphExec, hGraph, instantiateParams))
ENTRY(NEED_INIT, cuGraphExecDestroy, (CUgraphExec hGraphExec), destroy(hGraphExec))
ENTRY(NEED_INIT, cuGraphExecGetFlags, (CUgraphExec hGraphExec, cuuint64_t *flags), get_flags(hGraphExec, flags))

struct CUgraph_st *exec_to_graph(const struct CUgraphExec_st *exec)
{
    struct CUgraph_st *graph = graph_new();
    graph_memory_unref(graph->memory);
    graph->memory = graph_memory_ref(exec->memory);
    for (unsigned i = 0; i < exec->count; i++) {
        if (graph_add(graph, &exec->nodes[i].work, NULL, 0, NULL))
            abort(); // it was valid before
        for (unsigned j = 0; j < exec->nodes[i].before_count; j++)
            graph_add_edge(graph->nodes.nodes[exec->nodes[i].before[j]], graph->nodes.nodes[i]);
    }
    return graph;
}

// A marker without latency: where several ends meet.
static struct op *join_new(const struct CUstream_st *stream)
{
    struct op *join = op_create(OP_MARKER, stream->context->device, stream->number);
    join->submit_ns = join->latency_ns = 0;
    return join;
}

// One launch submits all nodes, at `submit_ns`.
static struct op *node_op(const struct exec_node *node, const struct CUstream_st *stream, uint64_t submit_ns)
{
    static const struct work empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    struct device *device = stream->context->device;
    if (node->work.type == CU_GRAPH_NODE_TYPE_KERNEL && IS(node->work.kernel.context, MAGIC_CONTEXT))
        device = node->work.kernel.context->device;
    struct op *op = work_op(node->is_disabled ? &empty : &node->work, device, stream->number);
    op->graph_node = node->id;
    op->submit_ns = submit_ns;
    if (node->work.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && IS(node->work.event, MAGIC_EVENT))
        op_after(op, node->work.event->op, CAUSE_EVENT);
    if (node->work.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && IS(node->work.event, MAGIC_EVENT)) {
        op_unref(node->work.event->op);
        node->work.event->op = op_ref(op);
    }
    return op;
}

static CUresult launch_captured(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
    struct work work = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = exec_to_graph(exec)};
    work.child->is_child = true;
    const CUresult result = capture_add(stream, &work);
    if (result)
        work_clear(&work);
    return result;
}

static CUresult launch(CUgraphExec exec, CUstream handle, CUstream otherwise)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || !IS(exec, MAGIC_EXEC))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return launch_captured(exec, stream);
    if (stream->kind == STREAM_LEGACY && (result = capture_forbids_legacy(stream->context)))
        return result;
    struct op **ops = malloc((exec->count + 1) * sizeof *ops), *begin = join_new(stream), *end = join_new(stream);
    if (!ops)
        abort();
    const uint64_t submit_ns = clock_now_ns();
    // Launches of one executable graph follow one another.
    op_after(begin, exec->last, CAUSE_GRAPH);
    stream_order(stream, begin);
    op_commit(begin);
    op_after(end, begin, CAUSE_STREAM);
    end->graph = exec->id;
    end->ends_graph = true;
    for (unsigned i = 0; i < exec->count; i++) {
        const struct exec_node *node = &exec->nodes[i];
        ops[i] = node_op(node, stream, submit_ns);
        ops[i]->graph = exec->id;
        if (!node->before_count)
            op_after(ops[i], begin, CAUSE_STREAM);
        for (unsigned j = 0; j < node->before_count; j++)
            op_after(ops[i], ops[node->before[j]], CAUSE_GRAPH);
        if (node->is_disabled)
            op_commit(ops[i]);
        else
            work_commit(&node->work, ops[i]);
        if (!node->has_after)
            op_after(end, ops[i], CAUSE_STREAM);
    }
    op_unref(stream->last);
    stream->last = op_ref(end);
    op_unref(exec->last);
    exec->last = op_ref(end);
    op_commit(end);
    for (unsigned i = 0; i < exec->count; i++)
        op_unref(ops[i]);
    op_unref(begin);
    op_unref(end);
    free(ops);
    return CUDA_SUCCESS;
}

static CUresult upload(CUgraphExec exec, CUstream handle, CUstream otherwise)
{
    struct CUstream_st *stream;
    const CUresult result = stream_get(handle, otherwise, &stream);
    return result ? result : IS(exec, MAGIC_EXEC) ? stream_not_capturing(stream) : CUDA_ERROR_INVALID_VALUE;
}

ENTRY_STREAM(NEED_CONTEXT, cuGraphLaunch, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
             launch(hGraphExec, hStream, default_stream))
ENTRY_STREAM(NEED_CONTEXT, cuGraphUpload, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
             upload(hGraphExec, hStream, default_stream))

static bool same_topology(const struct exec_node *left, const struct exec_node *right)
{
    return left->before_count == right->before_count &&
           (!left->before_count || memcmp(left->before, right->before, left->before_count * sizeof *left->before) == 0);
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult *ret_what, CUgraphNode *ret_bad)
{
    struct CUgraphExec_st *fresh;
    CUgraphNode bad = NULL;
    if (!IS(exec, MAGIC_EXEC) || !IS(graph, MAGIC_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResult what = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (exec_from_graph(graph, &fresh, &bad)) {
        what = CU_GRAPH_EXEC_UPDATE_ERROR;
        fresh = NULL;
    } else if (fresh->count != exec->count) {
        what = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (unsigned i = 0; !what && i < exec->count; i++) {
        if (!same_topology(&exec->nodes[i], &fresh->nodes[i]))
            what = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        else if (exec->nodes[i].work.type != fresh->nodes[i].work.type)
            what = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (what)
            bad = (CUgraphNode)fresh->nodes[i].source;
    }
    for (unsigned i = 0; !what && i < exec->count; i++)
        exec->nodes[i].work = fresh->nodes[i].work;
    spend_ns(CONFIG(graph_instantiate_ns_per_node) * exec->count);
    if (fresh)
        exec_delete(fresh);
    *ret_what = what;
    *ret_bad = bad;
    return what ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

static CUresult update_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_bad, CUgraphExecUpdateResult *ret_what)
{
    CUgraphNode bad;
    return ret_what ? update(exec, graph, ret_what, ret_bad ? ret_bad : &bad) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult update_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret_info)
{
    if (!ret_info)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_info = (CUgraphExecUpdateResultInfo){0};
    return update(exec, graph, &ret_info->result, &ret_info->errorNode);
}

ENTRY(NEED_INIT, cuGraphExecUpdate,
      (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out, CUgraphExecUpdateResult *updateResult_out),
      update_v1(hGraphExec, hGraph, hErrorNode_out, updateResult_out))
ENTRY(NEED_INIT, cuGraphExecUpdate_v2,
      (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo),
      update_v2(hGraphExec, hGraph, resultInfo))

// The copy in `exec` of a node of the graph it was made from.
static CUresult find(CUgraphExec exec, CUgraphNode node, struct exec_node **ret_found)
{
    if (!IS(exec, MAGIC_EXEC) || !IS(node, MAGIC_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < exec->count; i++) {
        if (exec->nodes[i].source == node) {
            *ret_found = &exec->nodes[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_params(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *given)
{
    struct exec_node *found;
    struct work work = {0};
    CUresult result = find(exec, node, &found);
    if (!result && given->type == CU_GRAPH_NODE_TYPE_GRAPH)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result || (result = work_from_node_params(&work, given)))
        return result;
    if (work.type != found->work.type) {
        work_clear(&work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    found->work = work;
    return CUDA_SUCCESS;
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *given)
{
    struct exec_node *found;
    struct work work = {0};
    CUresult result = find(exec, node, &found);
    if (!result)
        result = work_from_kernel_params(&work, given);
    if (!result && found->work.type != CU_GRAPH_NODE_TYPE_KERNEL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        found->work = work;
    return result;
}

static CUresult set_kernel_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    if (given)
        memcpy(&parameters, given, sizeof *given);
    return set_kernel(exec, node, given ? &parameters : NULL);
}

static CUresult set_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *given, CUcontext context)
{
    CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    parameters.memcpy.copyParams = *given;
    parameters.memcpy.copyCtx = context;
    return set_params(exec, node, &parameters);
}

static CUresult set_set(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *given, CUcontext context)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                                          .memset = {.dst = given->dst,
                                                     .pitch = given->pitch,
                                                     .value = given->value,
                                                     .elementSize = given->elementSize,
                                                     .width = given->width,
                                                     .height = given->height,
                                                     .ctx = context}};
    return set_params(exec, node, &parameters);
}

static CUresult set_host(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *given)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {given->fn, given->userData}};
    return set_params(exec, node, &parameters);
}

static CUresult set_event(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type, CUevent event)
{
    CUgraphNodeParams parameters = {.type = type};
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        parameters.eventRecord.event = event;
    else
        parameters.eventWait.event = event;
    return set_params(exec, node, &parameters);
}

// The child's nodes stand together and in order; those of the new graph take their places.
static CUresult set_child(CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
    struct exec_node *found;
    struct CUgraphExec_st *fresh;
    CUgraphNode bad;
    CUresult result = find(exec, node, &found);
    if (result || node->work.type != CU_GRAPH_NODE_TYPE_GRAPH || !IS(graph, MAGIC_GRAPH))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if ((result = exec_from_graph(graph, &fresh, &bad)))
        return result;
    struct exec_node *first = found - fresh->count;
    if (found - exec->nodes < (ptrdiff_t)fresh->count || graph->nodes.count != node->work.child->nodes.count)
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !result && i < fresh->count; i++) {
        if (first[i].work.type != fresh->nodes[i].work.type)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; !result && i < fresh->count; i++)
        first[i].work = fresh->nodes[i].work;
    exec_delete(fresh);
    return result;
}

static bool can_be_disabled(const struct exec_node *node)
{
    return node->work.type == CU_GRAPH_NODE_TYPE_KERNEL || node->work.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->work.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

static CUresult set_enabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    struct exec_node *found;
    const CUresult result = find(exec, node, &found);
    if (result || !can_be_disabled(found))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    found->is_disabled = !enabled;
    return CUDA_SUCCESS;
}

static CUresult get_enabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
    struct exec_node *found;
    const CUresult result = find(exec, node, &found);
    if (result || !enabled)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *enabled = !found->is_disabled;
    return CUDA_SUCCESS;
}

#define OF_EXEC CUgraphExec hGraphExec, CUgraphNode hNode

ENTRY(NEED_INIT, cuGraphExecNodeSetParams, (OF_EXEC, CUgraphNodeParams *nodeParams),
      set_params(hGraphExec, hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphExecKernelNodeSetParams, (OF_EXEC, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
      set_kernel_v1(hGraphExec, hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphExecKernelNodeSetParams_v2, (OF_EXEC, const CUDA_KERNEL_NODE_PARAMS *nodeParams),
      set_kernel(hGraphExec, hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphExecMemcpyNodeSetParams, (OF_EXEC, const CUDA_MEMCPY3D *copyParams, CUcontext ctx),
      set_copy(hGraphExec, hNode, copyParams, ctx))
ENTRY(NEED_INIT, cuGraphExecMemsetNodeSetParams, (OF_EXEC, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx),
      set_set(hGraphExec, hNode, memsetParams, ctx))
ENTRY(NEED_INIT, cuGraphExecHostNodeSetParams, (OF_EXEC, const CUDA_HOST_NODE_PARAMS *nodeParams),
      set_host(hGraphExec, hNode, nodeParams))
ENTRY(NEED_INIT, cuGraphExecChildGraphNodeSetParams, (OF_EXEC, CUgraph childGraph),
      set_child(hGraphExec, hNode, childGraph))
ENTRY(NEED_INIT, cuGraphExecEventRecordNodeSetEvent, (OF_EXEC, CUevent event),
      set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event))
ENTRY(NEED_INIT, cuGraphExecEventWaitNodeSetEvent, (OF_EXEC, CUevent event),
      set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event))
ENTRY(NEED_INIT, cuGraphNodeSetEnabled, (OF_EXEC, unsigned isEnabled), set_enabled(hGraphExec, hNode, isEnabled))
ENTRY(NEED_INIT, cuGraphNodeGetEnabled, (OF_EXEC, unsigned *isEnabled), get_enabled(hGraphExec, hNode, isEnabled))
