// Descriptors of the interface without graphs: tensors, filters.
#ifndef GW_SIMGPU_DNN_TENSOR_H
#define GW_SIMGPU_DNN_TENSOR_H

#include <stdint.h>

#include "tests/simgpu/dnn/handle.h"

struct cudnnTensorStruct {
    cudnnDataType_t type;
    int dimensions;
    int64_t sizes[CUDNN_DIM_MAX];
    int strides[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
    struct cudnnTensorStruct tensor; // its strides are not used
    cudnnTensorFormat_t format;
};

// What a tensor's elements weigh; 0 for NULL, which stands for a tensor that is not there.
double tensor_bytes(const struct cudnnTensorStruct *tensor);

#endif
