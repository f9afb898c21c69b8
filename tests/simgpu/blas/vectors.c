// Functions of vectors: sums and scalings that read their vectors once. A result that goes to the host is waited for,
// as documented, and is zero.
#include <string.h>

#include "tests/simgpu/blas/handle.h"

#define UNUSED __attribute__((unused))

// `result` of `result_bytes` (0: none) is host memory or device memory as the handle's pointer mode says.
static cublasStatus_t run(cublasHandle_t handle, const char *name, int64_t n, double vectors, cudaDataType type,
                          void *result, size_t result_bytes)
{
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (result_bytes && !result)
        return CUBLAS_STATUS_INVALID_VALUE;
    const bool to_host = result_bytes && handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (n > 0)
        status = kernel_launch(&(struct kernel){.name = name,
                                                .flops = 2 * (double)n,
                                                .flops_factor = 1.0 / 15,
                                                .bytes = vectors * (double)n * element_bytes(type),
                                                .blocks = (double)n / 1024,
                                                .threads = 128},
                               handle->stream);
    if (to_host && status == CUBLAS_STATUS_SUCCESS) {
        status = kernels_wait(handle->stream);
        memset(result, 0, result_bytes);
    }
    return status;
}

#define DOT(name, type, data)                                                                                          \
    EXPORT cublasStatus_t cublas##name##_v2(cublasHandle_t handle, int n, const type *x UNUSED, int incx UNUSED,       \
                                            const type *y UNUSED, int incy UNUSED, type *result)                       \
    {                                                                                                                  \
        return run(handle, "dot_kernel", n, 2, data, result, sizeof *result);                                          \
    }
DOT(Sdot, float, CUDA_R_32F)
DOT(Ddot, double, CUDA_R_64F)
DOT(Cdotu, cuComplex, CUDA_C_32F)
DOT(Cdotc, cuComplex, CUDA_C_32F)
DOT(Zdotu, cuDoubleComplex, CUDA_C_64F)
DOT(Zdotc, cuDoubleComplex, CUDA_C_64F)

EXPORT cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void *x UNUSED, cudaDataType xType,
                                  int incx UNUSED, const void *y UNUSED, cudaDataType yType UNUSED, int incy UNUSED,
                                  void *result, cudaDataType resultType, cudaDataType executionType UNUSED)
{
    return run(handle, "dot_kernel", n, 2, xType, result, (size_t)element_bytes(resultType));
}

#define NORM(name, type, real, data)                                                                                   \
    EXPORT cublasStatus_t cublas##name##_v2(cublasHandle_t handle, int n, const type *x UNUSED, int incx UNUSED,       \
                                            real *result)                                                              \
    {                                                                                                                  \
        return run(handle, "nrm2_kernel", n, 1, data, result, sizeof *result);                                         \
    }
NORM(Snrm2, float, float, CUDA_R_32F)
NORM(Dnrm2, double, double, CUDA_R_64F)
NORM(Scnrm2, cuComplex, float, CUDA_C_32F)
NORM(Dznrm2, cuDoubleComplex, double, CUDA_C_64F)

#define AXPY(letter, type, data)                                                                                       \
    EXPORT cublasStatus_t cublas##letter##axpy_v2(cublasHandle_t handle, int n, const type *alpha UNUSED,              \
                                                  const type *x UNUSED, int incx UNUSED, type *y UNUSED,               \
                                                  int incy UNUSED)                                                     \
    {                                                                                                                  \
        return run(handle, "axpy_kernel_val", n, 3, data, NULL, 0);                                                    \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##scal_v2(cublasHandle_t handle, int n, const type *alpha UNUSED,              \
                                                  type *x UNUSED, int incx UNUSED)                                     \
    {                                                                                                                  \
        return run(handle, "scal_kernel_val", n, 2, data, NULL, 0);                                                    \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##copy_v2(cublasHandle_t handle, int n, const type *x UNUSED, int incx UNUSED, \
                                                  type *y UNUSED, int incy UNUSED)                                     \
    {                                                                                                                  \
        return run(handle, "copy_kernel", n, 2, data, NULL, 0);                                                        \
    }
AXPY(S, float, CUDA_R_32F)
AXPY(D, double, CUDA_R_64F)
AXPY(C, cuComplex, CUDA_C_32F)
AXPY(Z, cuDoubleComplex, CUDA_C_64F)
