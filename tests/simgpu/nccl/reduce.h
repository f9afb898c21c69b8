// The arithmetic of collectives.
#ifndef GW_SIMGPU_NCCL_REDUCE_H
#define GW_SIMGPU_NCCL_REDUCE_H

#include <stddef.h>

enum data_type {
    TYPE_INT8,
    TYPE_UINT8,
    TYPE_INT32,
    TYPE_UINT32,
    TYPE_INT64,
    TYPE_UINT64,
    TYPE_FLOAT16,
    TYPE_FLOAT32,
    TYPE_FLOAT64,
    TYPE_BFLOAT16,
    TYPE_FLOAT8E4M3,
    TYPE_FLOAT8E5M2,
    TYPE_COUNT
};

enum reduction { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_AVG, REDUCE_COUNT };

size_t type_bytes(enum data_type type);

// As in the names of kernels: "f32".
const char *type_short_name(enum data_type type);

// to[0..count) = the reduction of from[0..inputs)[0..count). 16-bit and 8-bit floats are summed in single precision and
// rounded once. `to` may be one of the inputs.
void reduce(void *to, const void *const *from, unsigned inputs, size_t count, enum data_type type, enum reduction how);

// to[0..count) = from[0..count) times *scalar, all of that type.
void scale(void *to, const void *from, size_t count, enum data_type type, const void *scalar);

#endif
