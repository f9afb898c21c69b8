// Operations that other libraries end, and what they take from kernels beside them. Engine lock held.
#ifndef GW_SIMGPU_ENGINE_EXTERNAL_H
#define GW_SIMGPU_ENGINE_EXTERNAL_H

#include "tests/simgpu/engine/engine.h"
#include "tests/simgpu/external.h"

// Makes `op`, a kernel not yet committed, a launch of `external`.
void external_attach(struct op *op, const struct simgpu_external *external);

// Leaves a kernel that starts at `start_ns` only the multiprocessors communication does not take, and lengthens it by
// the configured contention. What a collective waits for is unknown ahead: until it is over, it counts for the least
// it takes.
void external_share(struct op *op, uint64_t start_ns);

#endif
