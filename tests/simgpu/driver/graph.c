// Building and asking graphs: nodes, edges, clones.
#include "tests/simgpu/driver/graph.h"

#include <stdlib.h>
#include <string.h>

static uint64_t last_node_id;

struct CUuserObject_st {
    enum magic magic;
    void *object;
    CUhostFn destroy;
    unsigned refs;
};

static void user_object_release(struct CUuserObject_st *object, unsigned count)
{
    object->refs -= count < object->refs ? count : object->refs;
    if (object->refs)
        return;
    const struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {object->destroy, object->object}};
    struct op *op = work_op(&work, &sim_devices[0], 0);
    op->kind = OP_MARKER; // runs where host functions run, but belongs to no stream
    work_commit(&work, op);
    op_unref(op);
    object_free(object, sizeof *object);
}

static void node_set_push(struct node_set *set, struct CUgraphNode_st *node)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity ? 2 * set->capacity : 4;
        set->nodes = realloc(set->nodes, set->capacity * sizeof *set->nodes);
        if (!set->nodes)
            abort();
    }
    set->nodes[set->count++] = node;
}

void node_set_add(struct node_set *set, struct CUgraphNode_st *node)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->nodes[i] == node)
            return;
    }
    node_set_push(set, node);
}

void node_set_clear(struct node_set *set)
{
    free(set->nodes);
    *set = (struct node_set){0};
}

static bool node_set_remove(struct node_set *set, const struct CUgraphNode_st *node)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->nodes[i] != node)
            continue;
        memmove(&set->nodes[i], &set->nodes[i + 1], (set->count - i - 1) * sizeof *set->nodes);
        set->count--;
        return true;
    }
    return false;
}

struct CUgraph_st *graph_new(void)
{
    struct CUgraph_st *graph = object_new(MAGIC_GRAPH, sizeof *graph);
    graph->memory = calloc(1, sizeof *graph->memory);
    if (!graph->memory)
        abort();
    graph->memory->refs = 1;
    return graph;
}

struct graph_memory *graph_memory_ref(struct graph_memory *memory)
{
    memory->refs++;
    return memory;
}

void graph_memory_unref(struct graph_memory *memory)
{
    if (--memory->refs)
        return;
    for (size_t i = 0; i < memory->count; i++)
        device_memory_give(memory->ranges[i]);
    free(memory->ranges);
    free(memory);
}

void work_clear(struct work *work)
{
    if (work->type == CU_GRAPH_NODE_TYPE_GRAPH && work->child)
        graph_delete(work->child);
    else if (work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        conditional_clear(&work->conditional);
    *work = (struct work){.type = work->type};
}

static void node_delete(struct CUgraphNode_st *node)
{
    work_clear(&node->work);
    node_set_clear(&node->before);
    node_set_clear(&node->after);
    object_free(node, sizeof *node);
}

void graph_delete(struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        node_delete(graph->nodes.nodes[i]);
    node_set_clear(&graph->nodes);
    graph_memory_unref(graph->memory);
    for (size_t i = 0; i < graph->object_count; i++)
        user_object_release(graph->objects[i], 1);
    free(graph->objects);
    conditional_forget(graph);
    object_free(graph, sizeof *graph);
}

static CUresult allocate_for_node(struct CUgraph_st *graph, struct work *work)
{
    struct device *device;
    struct range *range;
    CUresult result = context_device_index(work->alloc.poolProps.location.id, &device);
    if (result || (result = device_memory_take(device, work->alloc.bytesize, &range)))
        return result;
    struct graph_memory *memory = graph->memory;
    struct range **grown = realloc(memory->ranges, (memory->count + 1) * sizeof *grown);
    if (!grown)
        abort();
    grown[memory->count++] = range;
    memory->ranges = grown;
    range->graph = memory;
    work->alloc.dptr = range->base;
    return CUDA_SUCCESS;
}

CUresult graph_add_edge(struct CUgraphNode_st *from, struct CUgraphNode_st *to)
{
    if (!IS(from, MAGIC_NODE) || !IS(to, MAGIC_NODE) || from->graph != to->graph || from == to)
        return CUDA_ERROR_INVALID_VALUE;
    node_set_add(&from->after, to);
    node_set_add(&to->before, from);
    return CUDA_SUCCESS;
}

CUresult graph_add(struct CUgraph_st *graph, const struct work *work, struct CUgraphNode_st *const *before,
                   size_t count, struct CUgraphNode_st **ret_node)
{
    struct work owned = *work;
    if (!IS(graph, MAGIC_GRAPH) || (count && !before))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (!IS(before[i], MAGIC_NODE) || before[i]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (graph->is_body && !conditional_allows(owned.type))
        return CUDA_ERROR_INVALID_VALUE;
    if (owned.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !owned.alloc.dptr) {
        const CUresult result = allocate_for_node(graph, &owned);
        if (result)
            return result;
    }
    struct CUgraphNode_st *node = object_new(MAGIC_NODE, sizeof *node);
    node->graph = graph;
    node->work = owned;
    node->id = ++last_node_id;
    node->index = graph->nodes.count;
    node_set_push(&graph->nodes, node);
    for (size_t i = 0; i < count; i++)
        graph_add_edge(before[i], node);
    if (ret_node)
        *ret_node = node;
    return CUDA_SUCCESS;
}

static size_t index_of(const struct node_set *set, const struct CUgraphNode_st *node)
{
    size_t i = 0;
    while (i < set->count && set->nodes[i] != node)
        i++;
    return i;
}

struct CUgraphNode_st **graph_order(const struct CUgraph_st *graph)
{
    const struct node_set *nodes = &graph->nodes;
    if (!nodes->count)
        return NULL;
    struct CUgraphNode_st **order = malloc(nodes->count * sizeof *order);
    size_t *waits_for = malloc(nodes->count * sizeof *waits_for), done = 0, ordered = 0;
    if (!order || !waits_for)
        abort();
    for (size_t i = 0; i < nodes->count; i++) {
        waits_for[i] = nodes->nodes[i]->before.count;
        if (!waits_for[i])
            order[ordered++] = nodes->nodes[i];
    }
    for (; done < ordered; done++) {
        const struct node_set *after = &order[done]->after;
        for (size_t i = 0; i < after->count; i++) {
            if (--waits_for[after->nodes[i]->index] == 0)
                order[ordered++] = after->nodes[i];
        }
    }
    free(waits_for);
    if (ordered == nodes->count)
        return order;
    free(order);
    return NULL;
}

struct CUgraph_st *graph_clone(const struct CUgraph_st *graph)
{
    struct CUgraph_st *clone = graph_new();
    graph_memory_unref(clone->memory);
    clone->memory = graph_memory_ref(graph->memory);
    clone->original = graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        struct work work = node->work;
        struct CUgraphNode_st *copy;
        if (work.type == CU_GRAPH_NODE_TYPE_GRAPH)
            work.child = graph_clone(work.child);
        else if (work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            work.conditional = conditional_clone(&work.conditional);
        if (graph_add(clone, &work, NULL, 0, &copy))
            abort(); // it was valid in `graph`
        if (work.type == CU_GRAPH_NODE_TYPE_GRAPH)
            work.child->is_child = true;
        copy->original = node;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node_set *before = &graph->nodes.nodes[i]->before;
        for (size_t j = 0; j < before->count; j++)
            graph_add_edge(clone->nodes.nodes[before->nodes[j]->index], clone->nodes.nodes[i]);
    }
    return clone;
}

static CUresult create(CUgraph *ret_graph, unsigned flags)
{
    if (!ret_graph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_graph = graph_new();
    return CUDA_SUCCESS;
}

static CUresult destroy(CUgraph graph)
{
    if (!IS(graph, MAGIC_GRAPH) || graph->is_child)
        return CUDA_ERROR_INVALID_VALUE;
    graph_delete(graph);
    return CUDA_SUCCESS;
}

static CUresult clone_of(CUgraph *ret_clone, CUgraph graph)
{
    if (!ret_clone || !IS(graph, MAGIC_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_clone = graph_clone(graph);
    return CUDA_SUCCESS;
}

static CUresult find_in_clone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
    if (!ret_node || !IS(clone, MAGIC_GRAPH) || !IS(original, MAGIC_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < clone->nodes.count; i++) {
        if (clone->nodes.nodes[i]->original == original) {
            *ret_node = clone->nodes.nodes[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult destroy_node(CUgraphNode node)
{
    if (!IS(node, MAGIC_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < node->before.count; i++)
        node_set_remove(&node->before.nodes[i]->after, node);
    for (size_t i = 0; i < node->after.count; i++)
        node_set_remove(&node->after.nodes[i]->before, node);
    struct node_set *nodes = &node->graph->nodes;
    node_set_remove(nodes, node);
    for (size_t i = node->index; i < nodes->count; i++)
        nodes->nodes[i]->index = i;
    node_delete(node);
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuGraphCreate, (CUgraph * phGraph, unsigned flags), create(phGraph, flags))
ENTRY(NEED_INIT, cuGraphDestroy, (CUgraph hGraph), destroy(hGraph))
ENTRY(NEED_INIT, cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph), clone_of(phGraphClone, originalGraph))
ENTRY(NEED_INIT, cuGraphNodeFindInClone, (CUgraphNode * phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph),
      find_in_clone(phNode, hOriginalNode, hClonedGraph))
ENTRY(NEED_INIT, cuGraphDestroyNode, (CUgraphNode hNode), destroy_node(hNode))

// Hands out an array: with no place for it, its length; else what fits, the rest NULL, and how many there are.
static CUresult give(const struct node_set *set, CUgraphNode *nodes, size_t *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < set->count ? set->nodes[i] : NULL;
    if (!nodes || *count > set->count)
        *count = set->count;
    return CUDA_SUCCESS;
}

static CUresult give_roots(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct node_set roots = {0};
    if (!IS(graph, MAGIC_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (!graph->nodes.nodes[i]->before.count)
            node_set_push(&roots, graph->nodes.nodes[i]);
    }
    const CUresult result = give(&roots, nodes, count);
    node_set_clear(&roots);
    return result;
}

static CUresult give_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
    if (!IS(graph, MAGIC_GRAPH) || !count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    size_t found = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        for (size_t j = 0; j < node->after.count; j++, found++) {
            if (from && found < *count) {
                from[found] = (CUgraphNode)node;
                to[found] = node->after.nodes[j];
                if (data)
                    data[found] = (CUgraphEdgeData){0};
            }
        }
    }
    for (size_t i = found; from && i < *count; i++)
        from[i] = to[i] = NULL;
    if (!from || *count > found)
        *count = found;
    return CUDA_SUCCESS;
}

static CUresult give_neighbours(CUgraphNode node, bool before, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    if (!IS(node, MAGIC_NODE) || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; data && nodes && i < *count; i++)
        data[i] = (CUgraphEdgeData){0};
    return give(before ? &node->before : &node->after, nodes, count);
}

static CUresult change_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count, bool add)
{
    if (!IS(graph, MAGIC_GRAPH) || (count && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (!IS(from[i], MAGIC_NODE) || !IS(to[i], MAGIC_NODE) || from[i]->graph != graph || to[i]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        const bool exists = index_of(&from[i]->after, to[i]) < from[i]->after.count;
        if (exists == add || from[i] == to[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (add) {
            graph_add_edge(from[i], to[i]);
        } else {
            node_set_remove(&from[i]->after, to[i]);
            node_set_remove(&to[i]->before, from[i]);
        }
    }
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuGraphGetNodes, (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes),
      IS(hGraph, MAGIC_GRAPH) ? give(&hGraph->nodes, nodes, numNodes) : CUDA_ERROR_INVALID_VALUE)
ENTRY(NEED_INIT, cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes),
      give_roots(hGraph, rootNodes, numRootNodes))
ENTRY(NEED_INIT, cuGraphGetEdges, (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges),
      give_edges(hGraph, from, to, NULL, numEdges))
ENTRY(NEED_INIT, cuGraphGetEdges_v2,
      (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges),
      give_edges(hGraph, from, to, edgeData, numEdges))
ENTRY(NEED_INIT, cuGraphNodeGetDependencies, (CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies),
      give_neighbours(hNode, true, dependencies, NULL, numDependencies))
ENTRY(NEED_INIT, cuGraphNodeGetDependencies_v2,
      (CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies),
      give_neighbours(hNode, true, dependencies, edgeData, numDependencies))
ENTRY(NEED_INIT, cuGraphNodeGetDependentNodes,
      (CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes),
      give_neighbours(hNode, false, dependentNodes, NULL, numDependentNodes))
ENTRY(NEED_INIT, cuGraphNodeGetDependentNodes_v2,
      (CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData, size_t *numDependentNodes),
      give_neighbours(hNode, false, dependentNodes, edgeData, numDependentNodes))
ENTRY(NEED_INIT, cuGraphAddDependencies,
      (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies),
      change_edges(hGraph, from, to, numDependencies, true))
ENTRY(NEED_INIT, cuGraphAddDependencies_v2,
      (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
       size_t numDependencies),
      ((void)edgeData, change_edges(hGraph, from, to, numDependencies, true)))
ENTRY(NEED_INIT, cuGraphRemoveDependencies,
      (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies),
      change_edges(hGraph, from, to, numDependencies, false))
ENTRY(NEED_INIT, cuGraphRemoveDependencies_v2,
      (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
       size_t numDependencies),
      ((void)edgeData, change_edges(hGraph, from, to, numDependencies, false)))

static CUresult object_create(CUuserObject *ret_object, void *pointer, CUhostFn destroy_object, unsigned refs,
                              unsigned flags)
{
    if (!ret_object || !destroy_object || !refs || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_object = object_new(MAGIC_USER_OBJECT, sizeof **ret_object);
    (*ret_object)->object = pointer;
    (*ret_object)->destroy = destroy_object;
    (*ret_object)->refs = refs;
    return CUDA_SUCCESS;
}

static CUresult object_change(CUuserObject object, unsigned count, bool retain)
{
    if (!IS(object, MAGIC_USER_OBJECT) || !count)
        return CUDA_ERROR_INVALID_VALUE;
    if (retain)
        object->refs += count;
    else
        user_object_release(object, count);
    return CUDA_SUCCESS;
}

static CUresult graph_retain(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    if (!IS(graph, MAGIC_GRAPH) || !IS(object, MAGIC_USER_OBJECT) || !count)
        return CUDA_ERROR_INVALID_VALUE;
    struct CUuserObject_st **grown = realloc(graph->objects, (graph->object_count + count) * sizeof *grown);
    if (!grown)
        abort();
    graph->objects = grown;
    for (unsigned i = 0; i < count; i++)
        grown[graph->object_count++] = object;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        object->refs += count;
    return CUDA_SUCCESS;
}

static CUresult graph_release(CUgraph graph, CUuserObject object, unsigned count)
{
    if (!IS(graph, MAGIC_GRAPH) || !IS(object, MAGIC_USER_OBJECT) || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = graph->object_count; i > 0 && count; i--) {
        if (graph->objects[i - 1] != object)
            continue;
        graph->objects[i - 1] = graph->objects[--graph->object_count];
        count--;
        user_object_release(object, 1);
    }
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuUserObjectCreate,
      (CUuserObject * object_out, void *ptr, CUhostFn destroy_object, unsigned initialRefcount, unsigned flags),
      object_create(object_out, ptr, destroy_object, initialRefcount, flags))
ENTRY(NEED_INIT, cuUserObjectRetain, (CUuserObject object, unsigned refs), object_change(object, refs, true))
ENTRY(NEED_INIT, cuUserObjectRelease, (CUuserObject object, unsigned refs), object_change(object, refs, false))
ENTRY(NEED_INIT, cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned refs, unsigned flags),
      graph_retain(graph, object, refs, flags))
ENTRY(NEED_INIT, cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned refs),
      graph_release(graph, object, refs))
