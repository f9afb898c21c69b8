// Conditional nodes. A condition has the value that its handle gives at each launch, since kernels, which alone could
// set another, compute nothing; without such a value it is 0. So which body runs is known when the graph is
// instantiated, and a "while" with a condition that holds runs its body once instead of for ever.
#include <stdlib.h>

#include "tests/simgpu/driver/graph.h"

// A handle is the place of its condition here, counted from 1. Those of destroyed graphs keep theirs.
static struct condition {
    const struct CUgraph_st *graph; // NULL: destroyed
    const struct CUctx_st *context;
    unsigned launch_value;
} * conditions;
static size_t condition_count;

void conditional_forget(const struct CUgraph_st *graph)
{
    for (size_t i = 0; i < condition_count; i++) {
        if (conditions[i].graph == graph)
            conditions[i].graph = NULL;
    }
}

static CUresult handle_create(CUgraphConditionalHandle *ret_handle, CUgraph graph, CUcontext context, unsigned value,
                              unsigned flags)
{
    if (!ret_handle || !IS(graph, MAGIC_GRAPH) || !IS(context, MAGIC_CONTEXT) || flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    struct condition *grown = realloc(conditions, (condition_count + 1) * sizeof *grown);
    if (!grown)
        abort();
    conditions = grown;
    grown[condition_count++] = (struct condition){
        .graph = graph, .context = context, .launch_value = flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? value : 0};
    *ret_handle = condition_count;
    return CUDA_SUCCESS;
}

static bool is_size(CUgraphConditionalNodeType type, unsigned size)
{
    switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
        return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
        return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return size > 0;
    default:
        return false;
    }
}

CUresult work_from_conditional(struct work *work, const CUDA_CONDITIONAL_NODE_PARAMS *given)
{
    const struct condition *condition =
        given->handle && given->handle <= condition_count ? &conditions[given->handle - 1] : NULL;
    if (!condition || !condition->graph || !is_size(given->type, given->size) ||
        (given->ctx && given->ctx != condition->context))
        return CUDA_ERROR_INVALID_VALUE;
    struct CUgraph_st **bodies = malloc(given->size * sizeof(*bodies));
    if (!bodies)
        abort();
    for (unsigned i = 0; i < given->size; i++) {
        bodies[i] = graph_new();
        bodies[i]->is_child = bodies[i]->is_body = true;
    }
    *work = (struct work){
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = {.type = given->type, .value = condition->launch_value, .size = given->size, .bodies = bodies}};
    return CUDA_SUCCESS;
}

struct conditional_work conditional_clone(const struct conditional_work *conditional)
{
    struct conditional_work clone = *conditional;
    clone.bodies = malloc(clone.size * sizeof(*clone.bodies));
    if (!clone.bodies)
        abort();
    for (unsigned i = 0; i < clone.size; i++) {
        clone.bodies[i] = graph_clone(conditional->bodies[i]);
        clone.bodies[i]->is_child = clone.bodies[i]->is_body = true;
    }
    return clone;
}

void conditional_clear(struct conditional_work *conditional)
{
    for (unsigned i = 0; i < conditional->size; i++)
        graph_delete(conditional->bodies[i]);
    free(conditional->bodies);
}

const struct CUgraph_st *conditional_chosen(const struct conditional_work *conditional)
{
    unsigned body = conditional->value;
    if (conditional->type != CU_GRAPH_COND_TYPE_SWITCH)
        body = conditional->value ? 0 : 1;
    return body < conditional->size ? conditional->bodies[body] : NULL;
}

bool conditional_allows(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_EMPTY || type == CU_GRAPH_NODE_TYPE_GRAPH ||
           type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

ENTRY(NEED_INIT, cuGraphConditionalHandleCreate,
      (CUgraphConditionalHandle * pHandle_out, CUgraph hGraph, CUcontext ctx, unsigned defaultLaunchValue,
       unsigned flags),
      handle_create(pHandle_out, hGraph, ctx, defaultLaunchValue, flags))
