// Handles, their settings, and what can be asked of the library.
#include <stdlib.h>

#include "tests/simgpu/blas/handle.h"
#include "tests/simgpu/blas/version.h"

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
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
    *handle = created;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

#define SETTING(name, suffix, type, member)                                                                            \
    EXPORT cublasStatus_t cublasSet##name##suffix(cublasHandle_t handle, type value)                                   \
    {                                                                                                                  \
        if (!is_handle(handle))                                                                                        \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                                      \
        handle->member = value;                                                                                        \
        return CUBLAS_STATUS_SUCCESS;                                                                                  \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublasGet##name##suffix(cublasHandle_t handle, type *value)                                  \
    {                                                                                                                  \
        if (!is_handle(handle))                                                                                        \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                                      \
        if (!value)                                                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                                        \
        *value = handle->member;                                                                                       \
        return CUBLAS_STATUS_SUCCESS;                                                                                  \
    }

SETTING(Stream, _v2, cudaStream_t, stream)
SETTING(PointerMode, _v2, cublasPointerMode_t, pointer_mode)
SETTING(AtomicsMode, , cublasAtomicsMode_t, atomics_mode)
SETTING(MathMode, , cublasMath_t, math_mode)
SETTING(SmCountTarget, , int, sm_count_target)

// Nothing here needs one.
EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
    (void)workspace, (void)workspaceSizeInBytes;
    return is_handle(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; // documented to be ignored by callers that only want the version
    if (!version)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = BLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    return library_property(type, value);
}

EXPORT size_t cublasGetCudartVersion(void)
{
    return CUDA_VERSION;
}

EXPORT const char *cublasGetStatusName(cublasStatus_t status)
{
    return status_name(status);
}

EXPORT const char *cublasGetStatusString(cublasStatus_t status)
{
    return status_name(status);
}

EXPORT cublasStatus_t cublasLoggerConfigure(int logIsOn, int logToStdOut, int logToStdErr, const char *logFileName)
{
    (void)logIsOn, (void)logToStdOut, (void)logToStdErr, (void)logFileName;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t handle_gemm(cublasHandle_t handle, struct gemm gemm)
{
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (gemm.compute == CUBLAS_COMPUTE_32F && (handle->math_mode & 0xf) == CUBLAS_TF32_TENSOR_OP_MATH)
        gemm.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    return gemm_launch(&gemm, handle->stream);
}
