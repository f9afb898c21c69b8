// Convolutions of the interface without graphs.
#include <stdlib.h>

#include "tests/simgpu/dnn/conv.h"
#include "tests/simgpu/dnn/tensor.h"

// What else it is given (strides, padding, dilation, groups) shows in the sizes of what goes in and comes out.
struct cudnnConvolutionStruct {
    cudnnMathType_t math_type;
};

EXPORT cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convDesc)
{
    if (!convDesc)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *convDesc = calloc(1, sizeof **convDesc);
    return *convDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

EXPORT cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convDesc)
{
    free(convDesc);
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength,
                                                     const int padA[], const int filterStrideA[], const int dilationA[],
                                                     cudnnConvolutionMode_t mode, cudnnDataType_t computeType)
{
    (void)mode, (void)computeType;
    if (!convDesc || !padA || !filterStrideA || !dilationA)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (arrayLength < 1 || arrayLength > CUDNN_DIM_MAX - 2)
        return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount)
{
    if (!convDesc || groupCount < 1)
        return convDesc ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t mathType)
{
    if (!convDesc)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    convDesc->math_type = mathType;
    return CUDNN_STATUS_SUCCESS;
}

// The size of the workspace, and the one algorithm that is offered, for each direction.
#define WORKSPACE(pass, first, second, third, algorithm)                                                               \
    EXPORT cudnnStatus_t cudnnGetConvolution##pass##WorkspaceSize(cudnnHandle_t handle, const first a, const second b, \
                                                                  const cudnnConvolutionDescriptor_t convDesc,         \
                                                                  const third c, algorithm algo, size_t *sizeInBytes)  \
    {                                                                                                                  \
        (void)handle, (void)a, (void)b, (void)convDesc, (void)c, (void)algo;                                           \
        if (!sizeInBytes)                                                                                              \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                                                \
        *sizeInBytes = 0;                                                                                              \
        return CUDNN_STATUS_SUCCESS;                                                                                   \
    }
#define ALGORITHM(pass, first, second, third, perf, number)                                                            \
    EXPORT cudnnStatus_t cudnnGetConvolution##pass##Algorithm_v7(                                                      \
        cudnnHandle_t handle, const first a, const second b, const cudnnConvolutionDescriptor_t convDesc,              \
        const third c, const int requestedAlgoCount, int *returnedAlgoCount, perf *perfResults)                        \
    {                                                                                                                  \
        (void)handle, (void)a, (void)b, (void)c;                                                                       \
        if (!convDesc || !returnedAlgoCount || !perfResults)                                                           \
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                                                \
        if (requestedAlgoCount < 1)                                                                                    \
            return CUDNN_STATUS_BAD_PARAM;                                                                             \
        perfResults[0] =                                                                                               \
            (perf){.algo = number, .time = -1, .determinism = CUDNN_DETERMINISTIC, .mathType = convDesc->math_type};   \
        *returnedAlgoCount = 1;                                                                                        \
        return CUDNN_STATUS_SUCCESS;                                                                                   \
    }

WORKSPACE(Forward, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t)
WORKSPACE(BackwardData, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
          cudnnConvolutionBwdDataAlgo_t)
WORKSPACE(BackwardFilter, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
          cudnnConvolutionBwdFilterAlgo_t)
ALGORITHM(Forward, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
          cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
ALGORITHM(BackwardData, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
          cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
ALGORITHM(BackwardFilter, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
          cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1)

static cudnnStatus_t launch(cudnnHandle_t handle, enum conv_direction direction, const struct cudnnTensorStruct *x,
                            const struct cudnnFilterStruct *w, const struct cudnnTensorStruct *y,
                            const struct cudnnConvolutionStruct *convolution)
{
    struct kernel kernel;
    char name[CONV_NAME_SIZE];
    if (!x || !w || !y || !convolution)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (x->dimensions != w->tensor.dimensions || x->dimensions != y->dimensions)
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status = conv_kernel(&kernel, name,
                                             &(struct conv){.direction = direction,
                                                            .type = x->type,
                                                            .dimensions = x->dimensions,
                                                            .x = x->sizes,
                                                            .w = w->tensor.sizes,
                                                            .y = y->sizes});
    return status == CUDNN_STATUS_SUCCESS ? handle_launch(handle, &kernel) : status;
}

EXPORT cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t xDesc, const void *x,
                                             const cudnnFilterDescriptor_t wDesc, const void *w,
                                             const cudnnConvolutionDescriptor_t convDesc,
                                             cudnnConvolutionFwdAlgo_t algo, void *workSpace,
                                             size_t workSpaceSizeInBytes, const void *beta,
                                             const cudnnTensorDescriptor_t yDesc, void *y)
{
    (void)alpha, (void)x, (void)w, (void)algo, (void)workSpace, (void)workSpaceSizeInBytes, (void)beta, (void)y;
    return launch(handle, CONV_FORWARD, xDesc, wDesc, yDesc, convDesc);
}

EXPORT cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t xDesc, const void *x,
    const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc,
    cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *alpha2,
    const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t biasDesc, const void *bias,
    const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc, void *y)
{
    (void)alpha1, (void)x, (void)w, (void)algo, (void)workSpace, (void)workSpaceSizeInBytes, (void)alpha2, (void)zDesc;
    (void)z, (void)biasDesc, (void)bias, (void)activationDesc, (void)y;
    return launch(handle, CONV_FORWARD, xDesc, wDesc, yDesc, convDesc);
}

EXPORT cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                                  const cudnnFilterDescriptor_t wDesc, const void *w,
                                                  const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                                  const cudnnConvolutionDescriptor_t convDesc,
                                                  cudnnConvolutionBwdDataAlgo_t algo, void *workSpace,
                                                  size_t workSpaceSizeInBytes, const void *beta,
                                                  const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    (void)alpha, (void)w, (void)dy, (void)algo, (void)workSpace, (void)workSpaceSizeInBytes, (void)beta, (void)dx;
    return launch(handle, CONV_DATA_GRADIENT, dxDesc, wDesc, dyDesc, convDesc);
}

EXPORT cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                                    const cudnnTensorDescriptor_t xDesc, const void *x,
                                                    const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                                    const cudnnConvolutionDescriptor_t convDesc,
                                                    cudnnConvolutionBwdFilterAlgo_t algo, void *workSpace,
                                                    size_t workSpaceSizeInBytes, const void *beta,
                                                    const cudnnFilterDescriptor_t dwDesc, void *dw)
{
    (void)alpha, (void)x, (void)dy, (void)algo, (void)workSpace, (void)workSpaceSizeInBytes, (void)beta, (void)dw;
    return launch(handle, CONV_FILTER_GRADIENT, xDesc, dwDesc, dyDesc, convDesc);
}
