// Objects behind the driver API's handles, and what its files share. Everything here is used with the engine's lock
// held; entry points take it through ENTRY.
#ifndef GW_SIMGPU_DRIVER_H
#define GW_SIMGPU_DRIVER_H

// Declares every version of every function under its own name, without the macros that map plain names to versions.
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/engine/config.h"
#include "tests/simgpu/engine/engine.h"
#include "tests/simgpu/engine/thread.h"

#define EXPORT __attribute__((visibility("default")))

// What an entry point needs before it may do anything.
enum need {
    NEED_NOTHING = 0,
    NEED_INIT = 1,    // cuInit was called, in this process
    NEED_CONTEXT = 3, // and a context is current and not lost to a sticky error
    UNSAFE = 4,       // may block or synchronise behind the caller's back: refused while a capture forbids it
};

// Enters an API call and takes the lock. Returns what the entry point must return at once, or CUDA_SUCCESS.
CUresult sim_enter(struct simgpu_call *call, const char *name, const void *caller, unsigned needs);
// Releases the lock, spends the call's host time and leaves the call.
CUresult sim_leave(struct simgpu_call *call, CUresult result);

// An entry point: NAME and its parameters; `body` is the expression that does the work.
#define ENTRY(needs, name, parameters, body)                                                                           \
    EXPORT CUresult CUDAAPI name parameters                                                                            \
    {                                                                                                                  \
        struct simgpu_call call;                                                                                       \
        CUresult result = sim_enter(&call, #name, __builtin_return_address(0), needs);                                 \
        if (result == CUDA_SUCCESS)                                                                                    \
            result = (body);                                                                                           \
        return sim_leave(&call, result);                                                                               \
    }

// A pair of entry points that differ in what the default stream is. `body` uses DEFAULT_STREAM.
#define ENTRY_STREAM(needs, name, suffix, parameters, body)                                                            \
    ENTRY_DEFAULT(needs, name, parameters, body, CU_STREAM_LEGACY)                                                     \
    ENTRY_DEFAULT(needs, name##suffix, parameters, body, CU_STREAM_PER_THREAD)
#define ENTRY_DEFAULT(needs, name, parameters, body, stream)                                                           \
    EXPORT CUresult CUDAAPI name parameters                                                                            \
    {                                                                                                                  \
        const CUstream default_stream = stream;                                                                        \
        (void)default_stream;                                                                                          \
        struct simgpu_call call;                                                                                       \
        CUresult result = sim_enter(&call, #name, __builtin_return_address(0), needs);                                 \
        if (result == CUDA_SUCCESS)                                                                                    \
            result = (body);                                                                                           \
        return sim_leave(&call, result);                                                                               \
    }

// Adds host time to the call in progress.
static inline void spend_ns(double cost_ns)
{
    sim_thread.cost_ns += (uint64_t)cost_ns;
}

enum magic {
    MAGIC_CONTEXT = 0x43545831,
    MAGIC_STREAM,
    MAGIC_EVENT,
    MAGIC_MODULE,
    MAGIC_LIBRARY,
    MAGIC_FUNCTION,
    MAGIC_ARRAY,
    MAGIC_MIPMAP,
    MAGIC_POOL,
    MAGIC_GRAPH,
    MAGIC_NODE,
    MAGIC_EXEC,
    MAGIC_LINKER,
    MAGIC_USER_OBJECT,
    MAGIC_PHYSICAL,
};

// Objects start with their magic and are never returned to the allocator, so that a stale handle is told from a live
// one. object_free clears the magic and keeps the memory for the next object of that kind.
void *object_new(enum magic magic, size_t size);
void object_free(void *object, size_t size);
#define IS(handle, kind) ((handle) && *(const enum magic *)(handle) == (kind))

struct CUgraphNode_st;

struct node_set {
    struct CUgraphNode_st **nodes;
    size_t count, capacity;
};

struct capture;

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_CREATED };

struct CUstream_st {
    enum magic magic;
    enum stream_kind kind;
    struct CUctx_st *context;
    unsigned flags; // CUstream_flags
    int priority;
    unsigned number; // in the truth log
    uint64_t id;     // cuStreamGetId
    uint64_t thread; // serial of the thread, of per-thread default streams
    struct op *last; // latest operation, or NULL
    struct capture *capture;
    struct node_set heads; // nodes the next captured operation depends on
    struct CUstream_st *next_in_capture;
    struct CUstream_st *next; // in the context
    CUstreamAttrValue attributes[8];
};

struct CUctx_st {
    enum magic magic;
    struct device *device;
    bool is_primary;
    unsigned flags, retained, api_version, peers; // peers: bit for each device enabled
    CUresult lost;                                // sticky error, or CUDA_SUCCESS
    struct CUstream_st legacy;
    struct CUstream_st *streams; // created and per-thread ones
    struct op *orphans;          // joins what destroyed streams left
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache;
    CUsharedconfig shared_config;
    uint64_t id;
};

struct CUevent_st {
    enum magic magic;
    struct CUctx_st *context;
    unsigned flags;
    struct op *op;           // the record, or NULL
    struct capture *capture; // recorded in this capture, or NULL
    struct node_set heads;
};

struct CUctx_st *context_current(void); // NULL: none
CUresult context_device_index(CUdevice device, struct device **ret_device);
// Waits for all work of the context, or of all contexts of the device.
void context_wait(struct CUctx_st *context);
void device_wait(struct device *device);
struct CUctx_st *context_new(struct device *device, unsigned flags);
void context_delete(struct CUctx_st *context);
struct CUctx_st *context_next(const struct CUctx_st *context); // all live ones; NULL starts

// The stream of a handle in the current context, `otherwise` standing for a NULL handle. Fails on a stale handle.
CUresult stream_get(CUstream handle, CUstream otherwise, struct CUstream_st **ret_stream);
// Orders `op` after the stream's work, as its latest. op_commit is the caller's.
void stream_order(struct CUstream_st *stream, struct op *op);
// An operation whose end is the end of all the stream's work (a reference, or NULL when there never was any).
struct op *stream_tail(struct CUstream_st *stream);
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the capture invalid, if the stream is capturing; for waits and queries.
CUresult stream_not_capturing(struct CUstream_st *stream);

CUresult event_record(struct CUevent_st *event, struct CUstream_st *stream, unsigned flags);
CUresult event_wait(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags);
void node_set_clear(struct node_set *set);
void node_set_add(struct node_set *set, struct CUgraphNode_st *node);

#endif
