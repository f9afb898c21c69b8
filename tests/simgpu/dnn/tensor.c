#include "tests/simgpu/dnn/tensor.h"

#include <stdbool.h>
#include <stdlib.h>

double tensor_bytes(const struct cudnnTensorStruct *tensor)
{
    double bytes = tensor ? type_bytes(tensor->type) : 0;
    for (int i = 0; tensor && i < tensor->dimensions; i++)
        bytes *= (double)tensor->sizes[i];
    return bytes;
}

// cudnnCreateDescriptor and cudnnDestroyDescriptor of a kind that keeps nothing else.
#define DESCRIPTOR(kind)                                                                                               \
    EXPORT cudnnStatus_t cudnnCreate##kind##Descriptor(cudnn##kind##Descriptor_t *descriptor)                          \
    {                                                                                                                  \
        if (!descriptor)                                                                                               \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                                                \
        *descriptor = calloc(1, sizeof **descriptor);                                                                  \
        return *descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;                \
    }                                                                                                                  \
    EXPORT cudnnStatus_t cudnnDestroy##kind##Descriptor(cudnn##kind##Descriptor_t descriptor)                          \
    {                                                                                                                  \
        free(descriptor);                                                                                              \
        return CUDNN_STATUS_SUCCESS;                                                                                   \
    }

DESCRIPTOR(Tensor)
DESCRIPTOR(Filter)

// `strides` is NULL for a filter.
static cudnnStatus_t set(struct cudnnTensorStruct *tensor, cudnnDataType_t type, int dimensions, const int *sizes,
                         const int *strides)
{
    if (!tensor || !sizes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (dimensions < 1 || dimensions > CUDNN_DIM_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    tensor->type = type;
    tensor->dimensions = dimensions;
    for (int i = 0; i < dimensions; i++) {
        tensor->sizes[i] = sizes[i];
        tensor->strides[i] = strides ? strides[i] : 0;
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get(const struct cudnnTensorStruct *tensor, int wanted, cudnnDataType_t *ret_type,
                         int *ret_dimensions, int *ret_sizes, int *ret_strides)
{
    if (!tensor || !ret_type || !ret_dimensions)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *ret_type = tensor->type;
    *ret_dimensions = tensor->dimensions;
    for (int i = 0; i < tensor->dimensions && i < wanted; i++) {
        if (ret_sizes)
            ret_sizes[i] = (int)tensor->sizes[i];
        if (ret_strides)
            ret_strides[i] = tensor->strides[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType,
                                                int nbDims, const int dimA[], const int strideA[])
{
    return strideA ? set(tensorDesc, dataType, nbDims, dimA, strideA) : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
}

EXPORT cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int n,
                                                  int c, int h, int w, int nStride, int cStride, int hStride,
                                                  int wStride)
{
    return set(tensorDesc, dataType, 4, (int[]){n, c, h, w}, (int[]){nStride, cStride, hStride, wStride});
}

EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
                                                cudnnDataType_t dataType, int n, int c, int h, int w)
{
    const bool is_last = format == CUDNN_TENSOR_NHWC;
    return set(tensorDesc, dataType, 4, (int[]){n, c, h, w},
               is_last ? (int[]){c * h * w, 1, w * c, c} : (int[]){c * h * w, h * w, w, 1});
}

EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested,
                                                cudnnDataType_t *dataType, int *nbDims, int dimA[], int strideA[])
{
    return get(tensorDesc, nbDimsRequested, dataType, nbDims, dimA, strideA);
}

EXPORT cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
                                                cudnnTensorFormat_t format, int nbDims, const int filterDimA[])
{
    if (!filterDesc)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    filterDesc->format = format;
    return set(&filterDesc->tensor, dataType, nbDims, filterDimA, NULL);
}

EXPORT cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
                                                cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims,
                                                int filterDimA[])
{
    if (!filterDesc || !format)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *format = filterDesc->format;
    return get(&filterDesc->tensor, nbDimsRequested, dataType, nbDims, filterDimA, NULL);
}
