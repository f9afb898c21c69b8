// The beginnings of CUPTI's records, alike in CUDA 11 to 13: CUpti_ActivityKernel5 to 10, Memcpy4 to 6, MemcpyPtoP3 and
// 4, Memset3 and 4. A test compares them with the headers.
#ifndef GW_SHIM_TIMING_CUPTI_LAYOUTS_H
#define GW_SHIM_TIMING_CUPTI_LAYOUTS_H

#include <stdint.h>

struct gw_cupti_kernel {
    uint32_t kind;
    uint8_t configuration[12];
    uint64_t start, end, completed;
    uint32_t device, context, stream, grid[3], block[3], shared[2], local[2], correlation;
    int64_t grid_id;
    const char *name;
    uint64_t reserved, queued, submitted, launch, node;
};

struct gw_cupti_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    uint64_t reserved, node;
};

struct gw_cupti_peer {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, src_device, src_context, dst_device, dst_context, correlation;
    uint64_t reserved, node;
};

struct gw_cupti_set {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    uint64_t reserved, node;
};

#endif
