// Graphs, their nodes and their executable form.
#ifndef GW_SIMGPU_GRAPH_H
#define GW_SIMGPU_GRAPH_H

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/ranges.h"

// Memory of allocation nodes: lives as long as a graph or executable graph that has the nodes.
struct graph_memory {
    unsigned refs;
    struct range **ranges;
    size_t count;
};

struct CUgraphNode_st {
    enum magic magic;
    struct CUgraph_st *graph;
    struct work work;
    uint64_t id;      // graph_node in the truth log
    size_t index;     // in the graph's nodes
    uint64_t visited; // by the walk of this number; see capture.c
    struct node_set before, after;
    const struct CUgraphNode_st *original; // of a clone
};

struct CUgraph_st {
    enum magic magic;
    struct node_set nodes; // in the order they were added
    struct graph_memory *memory;
    bool is_child;                     // owned by a node
    bool is_body;                      // of a conditional node: takes some kinds of nodes only
    const struct CUgraph_st *original; // of a clone
    struct CUuserObject_st **objects;
    size_t object_count;
};

struct exec_node {
    struct work work;
    const struct CUgraphNode_st *source; // compared only
    const struct CUgraph_st *source_graph;
    uint64_t id;
    unsigned *before;
    unsigned before_count;
    bool has_after, is_disabled;
};

struct CUgraphExec_st {
    enum magic magic;
    struct exec_node *nodes; // predecessors first
    unsigned count;
    uint32_t id; // from 1
    unsigned long long flags;
    struct graph_memory *memory;
    struct op *last; // the latest launch
    unsigned launching;
};

struct CUgraph_st *graph_new(void);
void graph_delete(struct CUgraph_st *graph);
struct graph_memory *graph_memory_ref(struct graph_memory *memory);
void graph_memory_unref(struct graph_memory *memory);
struct CUgraph_st *graph_clone(const struct CUgraph_st *graph);

// Adds a node. Takes over what `work` owns; allocation nodes get their address in work.alloc.dptr. The handles of
// `before` must be nodes of `graph`.
CUresult graph_add(struct CUgraph_st *graph, const struct work *work, struct CUgraphNode_st *const *before,
                   size_t count, struct CUgraphNode_st **ret_node);
CUresult graph_add_edge(struct CUgraphNode_st *from, struct CUgraphNode_st *to);
// The nodes, predecessors first, as a new array of graph->nodes.count; NULL if the graph has a cycle or on an empty
// graph.
struct CUgraphNode_st **graph_order(const struct CUgraph_st *graph);
// Frees what a piece of work owns.
void work_clear(struct work *work);

// Work as the parameter structs of nodes give it; checked.
CUresult work_from_kernel_params(struct work *work, const CUDA_KERNEL_NODE_PARAMS *given);
CUresult work_from_node_params(struct work *work, const CUgraphNodeParams *given);

// A conditional node's work with empty bodies; that of a copy of the node, with copies of them; which of them
// runs, NULL for none; whether a body may have such a node. conditional_forget: the graph's handles are void from now
// on.
CUresult work_from_conditional(struct work *work, const CUDA_CONDITIONAL_NODE_PARAMS *given);
struct conditional_work conditional_clone(const struct conditional_work *conditional);
void conditional_clear(struct conditional_work *conditional);
const struct CUgraph_st *conditional_chosen(const struct conditional_work *conditional);
bool conditional_allows(CUgraphNodeType type);
void conditional_forget(const struct CUgraph_st *graph);

// The graph a launch of `exec` amounts to.
struct CUgraph_st *exec_to_graph(const struct CUgraphExec_st *exec);

#endif
