#ifndef GW_SIMGPU_POOL_H
#define GW_SIMGPU_POOL_H

#include "tests/simgpu/driver/driver.h"

struct CUmemPoolHandle_st {
    enum magic magic;
    struct device *device;
    bool is_default;
    uint64_t used_bytes, used_high, reserved_bytes, reserved_high, release_threshold;
    int reuse[3];    // follow event dependencies, opportunistic, internal dependencies
    unsigned access; // bit for each other device
};

// The pool cuMemAllocAsync of `device` takes from.
struct CUmemPoolHandle_st *pool_current(struct device *device);
// Takes `size` bytes back into the pool's account.
void pool_give(struct CUmemPoolHandle_st *pool, size_t size);

#endif
