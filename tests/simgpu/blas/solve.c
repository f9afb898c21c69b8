// Triangular solutions, and factorizations and solutions of many small matrices.
#include "tests/simgpu/blas/handle.h"

#define UNUSED __attribute__((unused))

struct solve {
    const char *name;
    cudaDataType type;
    double flops, elements, batch; // of one problem, in real operations; read and written; how many problems
    int *infos;                    // on the device, one a problem
};

static cublasStatus_t run(cublasHandle_t handle, const struct solve *solve)
{
    const bool is_complex = solve->type == CUDA_C_32F || solve->type == CUDA_C_64F;
    const bool is_double = solve->type == CUDA_R_64F || solve->type == CUDA_C_64F;
    if (!is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (solve->flops < 0 || solve->batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (solve->elements == 0 || solve->batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    const cublasStatus_t status =
        kernel_launch(&(struct kernel){.name = solve->name,
                                       .flops = (is_complex ? 4 : 1) * solve->flops * solve->batch,
                                       .flops_factor = 1.0 / 15 * (is_double ? 0.5 : 1),
                                       .bytes = element_bytes(solve->type) * solve->elements * solve->batch,
                                       .blocks = solve->elements * solve->batch / 1024,
                                       .threads = 128},
                      handle->stream);
    return status == CUBLAS_STATUS_SUCCESS ? kernels_clear(solve->infos, (size_t)solve->batch, handle->stream) : status;
}

// A's side is n for a solution from the right.
static cublasStatus_t solve_triangle(cublasHandle_t handle, const char *name, cublasSideMode_t side, double m, double n,
                                     cudaDataType type, double batch)
{
    const double order = side == CUBLAS_SIDE_LEFT ? m : n;
    return run(handle, &(struct solve){name, type, m * n * order, 2 * m * n + order * order / 2, batch, NULL});
}

// What a function that works on nothing but the problem's sizes reports on the host.
static cublasStatus_t fine(int *info, cublasStatus_t status)
{
    if (info)
        *info = 0;
    return status;
}

#define TRSM(name, batched, index, type, data)                                                                         \
    EXPORT cublasStatus_t cublas##name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo UNUSED,     \
                                       cublasOperation_t trans UNUSED, cublasDiagType_t diag UNUSED, index m, index n, \
                                       const type *alpha UNUSED, const type *A UNUSED, index lda UNUSED,               \
                                       type *B UNUSED, index ldb UNUSED)                                               \
    {                                                                                                                  \
        return solve_triangle(handle, "trsm_kernel", side, (double)m, (double)n, data, 1);                             \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##batched(                                                                             \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo UNUSED, cublasOperation_t trans UNUSED,    \
        cublasDiagType_t diag UNUSED, index m, index n, const type *alpha UNUSED, const type *const A[] UNUSED,        \
        index lda UNUSED, type *const B[] UNUSED, index ldb UNUSED, index batchCount)                                  \
    {                                                                                                                  \
        return solve_triangle(handle, "trsm_batched_kernel", side, (double)m, (double)n, data, (double)batchCount);    \
    }

#define BATCHED(letter, type, data)                                                                                    \
    TRSM(letter##trsm_v2, letter##trsmBatched, int, type, data)                                                        \
    TRSM(letter##trsm_v2_64, letter##trsmBatched_64, int64_t, type, data)                                              \
    EXPORT cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, type *const A[] UNUSED,           \
                                                       int lda UNUSED, int *P UNUSED, int *info, int batchSize)        \
    {                                                                                                                  \
        return run(handle,                                                                                             \
                   &(struct solve){"getrf_batched_kernel", data, 2. / 3 * n * n * n, 2. * n * n, batchSize, info});    \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##getriBatched(cublasHandle_t handle, int n, const type *const A[] UNUSED,     \
                                                       int lda UNUSED, const int *P UNUSED, type *const C[] UNUSED,    \
                                                       int ldc UNUSED, int *info, int batchSize)                       \
    {                                                                                                                  \
        return run(handle,                                                                                             \
                   &(struct solve){"getri_batched_kernel", data, 4. / 3 * n * n * n, 2. * n * n, batchSize, info});    \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t handle, cublasOperation_t trans UNUSED, int n,   \
                                                       int nrhs, const type *const Aarray[] UNUSED, int lda UNUSED,    \
                                                       const int *devIpiv UNUSED, type *const Barray[] UNUSED,         \
                                                       int ldb UNUSED, int *info, int batchSize)                       \
    {                                                                                                                  \
        return fine(info, run(handle, &(struct solve){"getrs_batched_kernel", data, 2. * n * n * nrhs,                 \
                                                      (double)n * n + 2. * n * nrhs, batchSize, NULL}));               \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##geqrfBatched(cublasHandle_t handle, int m, int n,                            \
                                                       type *const Aarray[] UNUSED, int lda UNUSED,                    \
                                                       type *const TauArray[] UNUSED, int *info, int batchSize)        \
    {                                                                                                                  \
        const double large = m > n ? m : n, small = m > n ? n : m;                                                     \
        return fine(info,                                                                                              \
                    run(handle, &(struct solve){"geqrf_batched_kernel", data, 2 * small * small * (large - small / 3), \
                                                2. * m * n, batchSize, NULL}));                                        \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##gelsBatched(                                                                 \
        cublasHandle_t handle, cublasOperation_t trans UNUSED, int m, int n, int nrhs, type *const Aarray[] UNUSED,    \
        int lda UNUSED, type *const Carray[] UNUSED, int ldc UNUSED, int *info, int *devInfoArray, int batchSize)      \
    {                                                                                                                  \
        return fine(info, run(handle, &(struct solve){"gels_batched_kernel", data,                                     \
                                                      2. * n * n * (m - n / 3.) + 4. * m * n * nrhs,                   \
                                                      2. * m * n + 2. * m * nrhs, batchSize, devInfoArray}));          \
    }
BATCHED(S, float, CUDA_R_32F)
BATCHED(D, double, CUDA_R_64F)
BATCHED(C, cuComplex, CUDA_C_32F)
BATCHED(Z, cuDoubleComplex, CUDA_C_64F)
