// Memory known to the driver, by address.
#ifndef GW_SIMGPU_RANGES_H
#define GW_SIMGPU_RANGES_H

#include "tests/simgpu/driver/driver.h"

enum range_kind { RANGE_DEVICE, RANGE_HOST, RANGE_REGISTERED, RANGE_MANAGED, RANGE_MAPPED };

struct range {
    uintptr_t base;
    size_t size;
    enum range_kind kind;
    struct device *device; // whose memory it is; of host memory, the one current then
    struct CUctx_st *context;
    unsigned flags; // of cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged
    uint64_t id;
    struct CUmemPoolHandle_st *pool; // of cuMemAllocAsync, or NULL
    struct graph_memory *graph;      // the graphs whose allocation node it belongs to, or NULL
    bool sync_memops;
};

// The range that holds `address`, or NULL.
struct range *range_find(const void *address);

// Adds a range with `kind`, `device` and `context` set. NULL where it would overlap another.
struct range *range_add(uintptr_t base, size_t size, enum range_kind kind);
void range_remove(struct range *range);
void range_for_each(void (*visit)(struct range *range, void *argument), void *argument);

// Device memory: takes `size` bytes of the device, aligned to 512. CUDA_ERROR_OUT_OF_MEMORY when it has not so much.
CUresult device_memory_take(struct device *device, size_t size, struct range **ret_range);
// Gives it back: at once to the account, and to reuse after all effects submitted so far.
void device_memory_give(struct range *range);
// Gives back what is left of the range that had `id` and began at `base`: nothing when its context ended before.
void device_memory_give_id(uintptr_t base, uint64_t id);
// Address space of `size` bytes without memory. NULL when there is none.
void *address_space_take(size_t size, size_t alignment);

#endif
