// Batch normalization of the interface without graphs. Its kernels are limited by memory.
#include "tests/simgpu/dnn/tensor.h"

static cudnnStatus_t no_space(size_t *ret_bytes)
{
    if (!ret_bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *ret_bytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
    const cudnnTensorDescriptor_t zDesc, const cudnnTensorDescriptor_t yDesc,
    const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const cudnnActivationDescriptor_t activationDesc,
    size_t *sizeInBytes)
{
    (void)handle, (void)mode, (void)bnOps, (void)xDesc, (void)zDesc, (void)yDesc;
    (void)bnScaleBiasMeanVarDesc, (void)activationDesc;
    return no_space(sizeInBytes);
}

EXPORT cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
    const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnTensorDescriptor_t dzDesc,
    const cudnnTensorDescriptor_t dxDesc, const cudnnTensorDescriptor_t dBnScaleBiasDesc,
    const cudnnActivationDescriptor_t activationDesc, size_t *sizeInBytes)
{
    (void)handle, (void)mode, (void)bnOps, (void)xDesc, (void)yDesc, (void)dyDesc, (void)dzDesc, (void)dxDesc;
    (void)dBnScaleBiasDesc, (void)activationDesc;
    return no_space(sizeInBytes);
}

EXPORT cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes)
{
    (void)handle, (void)mode, (void)bnOps, (void)activationDesc, (void)xDesc;
    return no_space(sizeInBytes);
}

EXPORT cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t zDesc, const void *zData,
    const cudnnTensorDescriptor_t yDesc, void *yData, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
    const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean,
    void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance,
    cudnnActivationDescriptor_t activationDesc, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace,
    size_t reserveSpaceSizeInBytes)
{
    (void)mode, (void)bnOps, (void)alpha, (void)beta, (void)xData, (void)zData, (void)yData;
    (void)bnScaleBiasMeanVarDesc, (void)bnScale, (void)bnBias, (void)exponentialAverageFactor, (void)resultRunningMean;
    (void)resultRunningVariance, (void)epsilon, (void)resultSaveMean, (void)resultSaveInvVariance;
    (void)activationDesc, (void)workspace, (void)workSpaceSizeInBytes, (void)reserveSpace;
    (void)reserveSpaceSizeInBytes;
    // x is read for the statistics and read again to be normalized.
    return handle_launch_bytes(handle, "cudnn::bn_fw_tr_1C11_kernel_NCHW",
                               2 * tensor_bytes(xDesc) + tensor_bytes(zDesc) + tensor_bytes(yDesc));
}

EXPORT cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc, void *y,
    const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
    const void *estimatedMean, const void *estimatedVariance, double epsilon)
{
    (void)mode, (void)alpha, (void)beta, (void)x, (void)y, (void)bnScaleBiasMeanVarDesc, (void)bnScale, (void)bnBias;
    (void)estimatedMean, (void)estimatedVariance, (void)epsilon;
    return handle_launch_bytes(handle, "cudnn::bn_fw_inf_1C11_kernel_NCHW", tensor_bytes(xDesc) + tensor_bytes(yDesc));
}

EXPORT cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alphaDataDiff,
    const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff,
    const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t yDesc, const void *yData,
    const cudnnTensorDescriptor_t dyDesc, const void *dyData, const cudnnTensorDescriptor_t dzDesc, void *dzData,
    const cudnnTensorDescriptor_t dxDesc, void *dxData, const cudnnTensorDescriptor_t dBnScaleBiasDesc,
    const void *bnScaleData, const void *bnBiasData, void *dBnScaleData, void *dBnBiasData, double epsilon,
    const void *savedMean, const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace,
    size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
    (void)mode, (void)bnOps, (void)alphaDataDiff, (void)betaDataDiff, (void)alphaParamDiff, (void)betaParamDiff;
    (void)xData, (void)yData, (void)dyData, (void)dzData, (void)dxData, (void)dBnScaleBiasDesc, (void)bnScaleData;
    (void)bnBiasData, (void)dBnScaleData, (void)dBnBiasData, (void)epsilon, (void)savedMean, (void)savedInvVariance;
    (void)activationDesc, (void)workSpace, (void)workSpaceSizeInBytes, (void)reserveSpace;
    (void)reserveSpaceSizeInBytes;
    // x and dy are read for the gradients of scale and bias and read again for that of x.
    return handle_launch_bytes(handle, "cudnn::bn_bw_1C11_kernel_new",
                               2 * (tensor_bytes(xDesc) + tensor_bytes(dyDesc)) + tensor_bytes(yDesc) +
                                   tensor_bytes(dzDesc) + tensor_bytes(dxDesc));
}
