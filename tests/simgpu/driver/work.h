// One piece of work, the same whether it is put on a stream, captured, or a node of a graph.
#ifndef GW_SIMGPU_WORK_H
#define GW_SIMGPU_WORK_H

#include "tests/simgpu/driver/driver.h"
#include "tests/simgpu/external.h"

// Functions, and kernels of libraries, which are the same objects here.
struct CUfunc_st {
    enum magic magic;
    const char *name; // interned
    struct image *image;
    struct CUfunc_st *next; // in the image
    bool is_loaded;         // launched before
    bool is_spin;           // takes its duration from its first argument
    double fixed_ns;        // configured duration, or negative
    int max_dynamic_shared_bytes, carveout;
    CUfunc_cache cache;
};

struct kernel_work {
    struct CUfunc_st *function;
    unsigned grid[3], block[3], shared_bytes;
    uint64_t spin_ns;    // first argument of a spin kernel
    uint64_t library_ns; // duration that the launching library gave; 0: none
    CUcontext context;
    struct simgpu_external external; // without `submit`: an ordinary kernel
};

struct copy_work {
    CUDA_MEMCPY3D parameters; // as given, or what a simpler call amounts to
    CUcontext context;
    enum op_kind kind; // OP_MARKER: between host addresses
    bool is_pageable;
    struct device *device, *peer; // whose engine it takes; OP_P2P: the destination
    struct effect box;
};

struct set_work {
    CUDA_MEMSET_NODE_PARAMS parameters;
    CUcontext context;
    struct device *device;
};

struct host_work {
    void (*function)(void *);
    void *argument;
};

struct conditional_work {
    CUgraphConditionalNodeType type;
    unsigned value; // of the condition, at each launch
    unsigned size;
    struct CUgraph_st **bodies; // owned by the node, as many as `size`; the caller knows the array too
};

struct work {
    CUgraphNodeType type;
    union {
        struct kernel_work kernel;
        struct copy_work copy;
        struct set_work set;
        struct host_work host;
        struct CUgraph_st *child; // owned by the node
        struct CUevent_st *event;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUdeviceptr freed;
        struct conditional_work conditional;
    };
};

// Checks a kernel launch and makes work of it.
CUresult work_kernel(struct work *work, CUfunction function, const unsigned grid[3], const unsigned block[3],
                     unsigned shared_bytes, void **parameters, void **extra);
// Checks a copy: addresses, extents, arrays. `work_copy_1d` is the same for one row between unified addresses whose
// kinds are said or CU_MEMORYTYPE_UNIFIED.
CUresult work_copy(struct work *work, const CUDA_MEMCPY3D *parameters);
CUresult work_copy_1d(struct work *work, CUdeviceptr to, CUmemorytype to_type, CUdeviceptr from, CUmemorytype from_type,
                      size_t size_bytes);
CUresult work_set(struct work *work, const CUDA_MEMSET_NODE_PARAMS *parameters);

// The operation of a kernel, copy, memset, host function or empty node: created, ordered after nothing yet.
struct op *work_op(const struct work *work, struct device *device, unsigned stream);
// Commits it, after its predecessors have been given.
void work_commit(const struct work *work, struct op *op);

// Puts work on a stream, or into the graph the stream is captured to; *ret_op is the operation (a reference; NULL when
// captured).
CUresult work_submit(const struct work *work, struct CUstream_st *stream, struct op **ret_op);
// The same for callers that need no operation.
CUresult work_enqueue(const struct work *work, struct CUstream_st *stream);

#endif
