// libcublasLt: descriptors, one algorithm for every product, and the product.
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "tests/simgpu/blas/descriptor.h"
#include "tests/simgpu/blas/handle.h"
#include "tests/simgpu/blas/version.h"

#define ALGORITHM_ID 66 // the one that cublasLtMatmulAlgoGetIds lists

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = kernels_load();
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    struct cublasContext *created = calloc(1, sizeof *created);
    if (!created)
        return CUBLAS_STATUS_ALLOC_FAILED;
    created->magic = HANDLE_MAGIC;
    *handle = (cublasLtHandle_t)created;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    struct cublasContext *context = (struct cublasContext *)handle;
    if (!is_handle(context))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    context->magic = 0;
    free(context);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT size_t cublasLtGetVersion(void)
{
    return BLAS_VERSION;
}

EXPORT size_t cublasLtGetCudartVersion(void)
{
    return CUDA_VERSION;
}

EXPORT cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    return library_property(type, value);
}

EXPORT const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return status_name(status);
}

EXPORT const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status_name(status);
}

static cublasStatus_t algorithm(cublasLtMatmulAlgo_t *ret_algorithm)
{
    if (!ret_algorithm)
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_algorithm = (cublasLtMatmulAlgo_t){.data = {ALGORITHM_ID}};
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t computeType,
                                             cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
                                             cudaDataType_t Ctype, cudaDataType_t Dtype, int algoId,
                                             cublasLtMatmulAlgo_t *algo)
{
    (void)handle, (void)computeType, (void)scaleType, (void)Atype, (void)Btype, (void)Ctype, (void)Dtype;
    return algoId == ALGORITHM_ID ? algorithm(algo) : CUBLAS_STATUS_INVALID_VALUE;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t computeType,
                                               cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
                                               cudaDataType_t Ctype, cudaDataType_t Dtype, int requestedAlgoCount,
                                               int algoIdsArray[], int *returnAlgoCount)
{
    (void)handle, (void)computeType, (void)scaleType, (void)Atype, (void)Btype, (void)Ctype, (void)Dtype;
    if (!algoIdsArray || !returnAlgoCount || requestedAlgoCount <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    algoIdsArray[0] = ALGORITHM_ID;
    *returnAlgoCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static void estimate(cublasLtMatmulHeuristicResult_t *ret_result)
{
    *ret_result = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1};
    algorithm(&ret_result->algo);
}

EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operationDesc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result)
{
    (void)handle, (void)operationDesc, (void)Adesc, (void)Bdesc, (void)Cdesc, (void)Ddesc;
    if (!algo || !result || algo->data[0] != ALGORITHM_ID)
        return CUBLAS_STATUS_INVALID_VALUE;
    estimate(result);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operationDesc,
                                                     cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                     cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                     cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                                     cublasLtMatmulHeuristicResult_t results[], int *returnAlgoCount)
{
    (void)handle, (void)preference;
    struct gemm gemm;
    if (!results || !returnAlgoCount || requestedAlgoCount <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = matmul_gemm(&gemm, operationDesc, Adesc, Bdesc, Cdesc, Ddesc);
    *returnAlgoCount = status == CUBLAS_STATUS_SUCCESS;
    if (status == CUBLAS_STATUS_SUCCESS)
        estimate(&results[0]);
    return status;
}

// There is nothing that an algorithm's configuration could change.
EXPORT cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                           cublasLtMatmulAlgoConfigAttributes_t attr, const void *buf,
                                                           size_t sizeInBytes)
{
    (void)attr;
    return algo && buf && sizeInBytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                           cublasLtMatmulAlgoConfigAttributes_t attr, void *buf,
                                                           size_t sizeInBytes, size_t *sizeWritten)
{
    if (!algo || (sizeInBytes && !buf) || (!sizeInBytes && !sizeWritten))
        return CUBLAS_STATUS_INVALID_VALUE;
    const uint32_t value = attr == CUBLASLT_ALGO_CONFIG_ID ? ALGORITHM_ID : 0;
    if (sizeInBytes) {
        memset(buf, 0, sizeInBytes);
        memcpy(buf, &value, sizeInBytes < sizeof value ? sizeInBytes : sizeof value);
    }
    if (sizeWritten)
        *sizeWritten = sizeInBytes ? sizeInBytes : sizeof value;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
                                     const void *A, cublasLtMatrixLayout_t Adesc, const void *B,
                                     cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
                                     cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc,
                                     const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceSizeInBytes,
                                     cudaStream_t stream)
{
    (void)alpha, (void)A, (void)B, (void)beta, (void)C, (void)D, (void)algo, (void)workspace,
        (void)workspaceSizeInBytes;
    struct gemm gemm;
    if (!is_handle((cublasHandle_t)handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = matmul_gemm(&gemm, computeDesc, Adesc, Bdesc, Cdesc, Ddesc);
    return status == CUBLAS_STATUS_SUCCESS ? gemm_launch(&gemm, stream) : status;
}

EXPORT cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t transformDesc,
                                              const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
                                              const void *beta, const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
                                              cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
    (void)transformDesc, (void)alpha, (void)A, (void)beta, (void)B, (void)Bdesc, (void)C, (void)Cdesc;
    struct shape shape;
    if (!is_handle((cublasHandle_t)handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!layout_shape(&shape, Adesc))
        return CUBLAS_STATUS_INVALID_VALUE;
    const double elements = (double)shape.rows * (double)shape.columns * (double)shape.batch;
    return kernel_launch(&(struct kernel){.name = "cublasLt_matrix_transform_kernel",
                                          .flops_factor = 1,
                                          .bytes = 2 * elements * element_bytes(shape.type),
                                          .blocks = elements / 4096,
                                          .threads = 256},
                         stream);
}
