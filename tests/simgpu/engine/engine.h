// The device engine: operations with predecessors, whose start and end are computed as soon as all predecessors' are
// known. Extended by libraries that decide an operation's end themselves (host functions here, collectives later)
// through `on_ready` and engine_finish, and watched through engine_observe.
//
// All functions are called with the engine's lock held unless they say otherwise.
#ifndef GW_SIMGPU_ENGINE_H
#define GW_SIMGPU_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simgpu/engine/effect.h"
#include "tests/simgpu/engine/timeline.h"

enum op_kind { OP_MARKER, OP_KERNEL, OP_MEMSET, OP_H2D, OP_D2H, OP_D2D, OP_P2P, OP_HOST };

// What determined an operation's start.
enum op_cause { CAUSE_SUBMIT, CAUSE_STREAM, CAUSE_EVENT, CAUSE_LEGACY, CAUSE_GRAPH, CAUSE_ENGINE, CAUSE_HOST };

enum op_engine { ENGINE_NONE = -1, ENGINE_COMPUTE, ENGINE_H2D, ENGINE_D2H, ENGINE_D2D, ENGINE_COUNT };

// A running or recent operation of another library; see external.h. `op` is NULL once it has ended.
struct communication {
    struct op *op;
    struct interval interval;
};

#define COMMUNICATION_KEPT 32

struct device {
    unsigned index;
    double slowdown;
    uint64_t memory_bytes, used_bytes;
    struct timeline engines[ENGINE_COUNT];
    struct communication communication[COMMUNICATION_KEPT];
    unsigned communication_next;
};

struct op {
    enum op_kind kind;
    enum op_cause cause;
    enum op_engine engine;
    unsigned units; // of the engine
    struct device *device;
    unsigned stream;  // number in the truth log, within the device `home`
    unsigned home;    // number of the device whose stream it is on; `device` is the one whose engine carries it out
    const char *name; // interned: never freed
    uint64_t bytes, graph_node, correlation;
    uint32_t graph;   // executable graph it is launched by; 0: none
    bool ends_graph;  // the marker after the last of a graph's launch
    bool is_pageable; // copies: host memory that is not pinned
    unsigned peer;    // OP_P2P: number of the other device
    uint64_t submit_ns, latency_ns, duration_ns;
    uint64_t start_ns, end_ns;       // valid once resolved
    bool resolved, is_staging;       // the latter: `start_ns` and `end_ns` are what is planned
    struct effect effect;            // what it does to memory; empty for most
    uint64_t effect_seq;             // all effects up to this one precede the operation's completion
    void (*on_ready)(struct op *op); // NULL, or: predecessors' ends are known, `start_ns` is the earliest start
    void *on_ready_argument;

    unsigned refs, unresolved;
    uint64_t ready_ns; // latest end of the predecessors resolved so far
    struct op_link *successors;
};

extern struct device sim_devices[];

// Sets up the devices from the configuration and the fork handlers, once. Takes no lock.
void engine_init(void);

void engine_lock(void);
void engine_unlock(void);

// A new operation submitted now, with one reference, not yet committed.
struct op *op_create(enum op_kind kind, struct device *device, unsigned stream);
struct op *op_ref(struct op *op);
void op_unref(struct op *op); // accepts NULL

// Makes `op`, not yet committed, wait for `before` (NULL: nothing).
void op_after(struct op *op, struct op *before, enum op_cause cause);

// Sets the operation going: its times are computed as soon as its predecessors' are known.
void op_commit(struct op *op);

// Gives the times of an operation with `on_ready`, which decides them itself.
void engine_finish(struct op *op, uint64_t start_ns, uint64_t end_ns);

// Whether the operation has ended and its effects are in place.
bool op_complete(const struct op *op);

// Returns when op_complete; the lock is released meanwhile.
void op_wait(struct op *op);

// Commits a copy whose bytes the calling thread hands over piece by piece, and returns when it has: `last_ns` before
// the copy ends, later than planned if the thread was late. The lock is released meanwhile.
void op_commit_staged(struct op *op, uint64_t last_ns);

// Calls `observer` (NULL: nobody) with every operation whose times have become known, under the lock.
void engine_observe(void (*observer)(const struct op *op));

// Runs `function(argument)` on the host-function thread once `op`'s predecessors are done; `op`'s times are those of
// the call. Commits the operation.
void op_commit_host(struct op *op, void (*function)(void *), void *argument);

// Before this nothing is placed any more.
uint64_t engine_past_ns(void);

// A copy of `text` that is never freed and is the same for the same text.
const char *intern(const char *text);

#endif
