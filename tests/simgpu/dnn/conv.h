// Convolutions: which kernel the library takes for one, and what it costs.
#ifndef GW_SIMGPU_DNN_CONV_H
#define GW_SIMGPU_DNN_CONV_H

#include <stdint.h>

#include "tests/simgpu/dnn/handle.h"

enum conv_direction { CONV_FORWARD, CONV_DATA_GRADIENT, CONV_FILTER_GRADIENT };

// Sizes in the order of the dimensions: x is batch, channels, space; w filters, channels of a group, space; y batch,
// filters, space. Of a gradient x, w and y are what they are of the forward pass.
struct conv {
    enum conv_direction direction;
    cudnnDataType_t type;
    int dimensions;
    const int64_t *x, *w, *y;
};

#define CONV_NAME_SIZE 160

// The convolution as a kernel whose name is written to `name`. CUDNN_STATUS_NOT_SUPPORTED: no such type;
// CUDNN_STATUS_BAD_PARAM: the sizes fit no convolution.
cudnnStatus_t conv_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], const struct conv *conv);

#endif
