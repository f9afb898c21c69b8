// What stands behind a cudnnHandle_t.
#ifndef GW_SIMGPU_DNN_HANDLE_H
#define GW_SIMGPU_DNN_HANDLE_H

#include <cudnn.h>

#include "tests/simgpu/stand_in_kernel.h"

struct cudnnContext {
    cudaStream_t stream;
};

// Bytes of an element; 0: no such type, or one that is packed.
double type_bytes(cudnnDataType_t type);

// Launches a kernel on the handle's stream.
cudnnStatus_t handle_launch(cudnnHandle_t handle, const struct kernel *kernel);

// What a block of such a kernel moves.
#define BYTES_A_BLOCK 16384

// Launches a kernel that reads and writes so many bytes and computes little.
cudnnStatus_t handle_launch_bytes(cudnnHandle_t handle, const char *name, double bytes);

#endif
