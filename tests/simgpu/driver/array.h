// Arrays: plain pitched memory of a device.
#ifndef GW_SIMGPU_ARRAY_H
#define GW_SIMGPU_ARRAY_H

#include "tests/simgpu/driver/driver.h"
#include "tests/simgpu/driver/ranges.h"

struct CUarray_st {
    enum magic magic;
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    struct device *device;
    uintptr_t base;
    uint64_t range_id;
    size_t pitch, rows, slices;
    bool belongs_to_mipmap;
};

#endif
