// Matrix times matrix and matrix times vector, in all their forms: one table row a type, once with int and once with
// int64_t sizes. Pointers are taken as they are: nothing is computed.
#include "tests/simgpu/blas/handle.h"

#define UNUSED __attribute__((unused))
#define HANDLE cublasHandle_t handle
#define OPERATIONS cublasOperation_t transa, cublasOperation_t transb
#define SIZES(index) index m, index n, index k
#define PRODUCT(type_a, type_b, type_c, compute_type, count)                                                           \
    handle_gemm(handle, (struct gemm){.op_a = transa,                                                                  \
                                      .op_b = transb,                                                                  \
                                      .m = m,                                                                          \
                                      .n = n,                                                                          \
                                      .k = k,                                                                          \
                                      .batch = count,                                                                  \
                                      .a = type_a,                                                                     \
                                      .b = type_b,                                                                     \
                                      .c = type_c,                                                                     \
                                      .compute = compute_type})

#define GEMM(letter, version, type, data)                                                                              \
    GEMM_OF(letter##gemm##version, letter##gemmBatched, letter##gemmStridedBatched, int, type, data)                   \
    GEMM_OF(letter##gemm##version##_64, letter##gemmBatched_64, letter##gemmStridedBatched_64, int64_t, type, data)
#define GEMM_OF(plain, batched, strided, index, type, data)                                                            \
    EXPORT cublasStatus_t cublas##plain(HANDLE, OPERATIONS, SIZES(index), const type *alpha UNUSED,                    \
                                        const type *A UNUSED, index lda UNUSED, const type *B UNUSED,                  \
                                        index ldb UNUSED, const type *beta UNUSED, type *C UNUSED, index ldc UNUSED)   \
    {                                                                                                                  \
        return PRODUCT(data, data, data, compute_of(data), 1);                                                         \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##batched(HANDLE, OPERATIONS, SIZES(index), const type *alpha UNUSED,                  \
                                          const type *const A[] UNUSED, index lda UNUSED,                              \
                                          const type *const B[] UNUSED, index ldb UNUSED, const type *beta UNUSED,     \
                                          type *const C[] UNUSED, index ldc UNUSED, index count)                       \
    {                                                                                                                  \
        return PRODUCT(data, data, data, compute_of(data), count);                                                     \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##strided(                                                                             \
        HANDLE, OPERATIONS, SIZES(index), const type *alpha UNUSED, const type *A UNUSED, index lda UNUSED,            \
        long long stride_a UNUSED, const type *B UNUSED, index ldb UNUSED, long long stride_b UNUSED,                  \
        const type *beta UNUSED, type *C UNUSED, index ldc UNUSED, long long stride_c UNUSED, index count)             \
    {                                                                                                                  \
        return PRODUCT(data, data, data, compute_of(data), count);                                                     \
    }

GEMM(S, _v2, float, CUDA_R_32F)
GEMM(D, _v2, double, CUDA_R_64F)
GEMM(C, _v2, cuComplex, CUDA_C_32F)
GEMM(Z, _v2, cuDoubleComplex, CUDA_C_64F)
// The header declares these for C++ only, whose __half it needs.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
GEMM(H, , void, CUDA_R_16F)
#pragma GCC diagnostic pop

#define MATRIX(letter, index) const void *letter UNUSED, cudaDataType letter##type, index ld##letter UNUSED
#define GEMM_EX(suffix, index)                                                                                         \
    EXPORT cublasStatus_t cublasGemmEx##suffix(HANDLE, OPERATIONS, SIZES(index), const void *alpha UNUSED,             \
                                               MATRIX(A, index), MATRIX(B, index), const void *beta UNUSED,            \
                                               void *C UNUSED, cudaDataType Ctype, index ldc UNUSED,                   \
                                               cublasComputeType_t computeType, cublasGemmAlgo_t algo UNUSED)          \
    {                                                                                                                  \
        return PRODUCT(Atype, Btype, Ctype, computeType, 1);                                                           \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublasSgemmEx##suffix(HANDLE, OPERATIONS, SIZES(index), const float *alpha UNUSED,           \
                                                MATRIX(A, index), MATRIX(B, index), const float *beta UNUSED,          \
                                                void *C UNUSED, cudaDataType Ctype, index ldc UNUSED)                  \
    {                                                                                                                  \
        return PRODUCT(Atype, Btype, Ctype, CUBLAS_COMPUTE_32F, 1);                                                    \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublasGemmBatchedEx##suffix(                                                                 \
        HANDLE, OPERATIONS, SIZES(index), const void *alpha UNUSED, const void *const A[] UNUSED, cudaDataType Atype,  \
        index lda UNUSED, const void *const B[] UNUSED, cudaDataType Btype, index ldb UNUSED, const void *beta UNUSED, \
        void *const C[] UNUSED, cudaDataType Ctype, index ldc UNUSED, index count, cublasComputeType_t computeType,    \
        cublasGemmAlgo_t algo UNUSED)                                                                                  \
    {                                                                                                                  \
        return PRODUCT(Atype, Btype, Ctype, computeType, count);                                                       \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                                          \
        HANDLE, OPERATIONS, SIZES(index), const void *alpha UNUSED, MATRIX(A, index), long long stride_a UNUSED,       \
        MATRIX(B, index), long long stride_b UNUSED, const void *beta UNUSED, void *C UNUSED, cudaDataType Ctype,      \
        index ldc UNUSED, long long stride_c UNUSED, index count, cublasComputeType_t computeType,                     \
        cublasGemmAlgo_t algo UNUSED)                                                                                  \
    {                                                                                                                  \
        return PRODUCT(Atype, Btype, Ctype, computeType, count);                                                       \
    }

GEMM_EX(, int)
GEMM_EX(_64, int64_t)

// A matrix is read once and that limits it.
static cublasStatus_t launch_gemv(cublasHandle_t handle, cublasOperation_t operation, int64_t m, int64_t n,
                                  cudaDataType type)
{
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!m || !n)
        return CUBLAS_STATUS_SUCCESS;
    const double elements = (double)m * (double)n;
    return kernel_launch(&(struct kernel){.name = operation == CUBLAS_OP_N ? "gemvNSP_kernel" : "gemv2T_kernel_val",
                                          .flops = 2 * elements,
                                          .flops_factor = 1.0 / 15,
                                          .bytes = elements * element_bytes(type),
                                          .blocks = elements / 16384,
                                          .threads = 128},
                         handle->stream);
}

#define GEMV(letter, type, data)                                                                                       \
    GEMV_OF(letter##gemv_v2, int, type, data)                                                                          \
    GEMV_OF(letter##gemv_v2_64, int64_t, type, data)
#define GEMV_OF(name, index, type, data)                                                                               \
    EXPORT cublasStatus_t cublas##name(HANDLE, cublasOperation_t trans, index m, index n, const type *alpha UNUSED,    \
                                       const type *A UNUSED, index lda UNUSED, const type *x UNUSED,                   \
                                       index incx UNUSED, const type *beta UNUSED, type *y UNUSED, index incy UNUSED)  \
    {                                                                                                                  \
        return launch_gemv(handle, trans, m, n, data);                                                                 \
    }

GEMV(S, float, CUDA_R_32F)
GEMV(D, double, CUDA_R_64F)
GEMV(C, cuComplex, CUDA_C_32F)
GEMV(Z, cuDoubleComplex, CUDA_C_64F)
