// The simulated cuSOLVER's dense functions of one type each: factorizations, solutions, eigenvalues, singular values.
#include "tests/simgpu/solver/solver.h"

#define SUCCESS_WITH(pointer, value) (*(pointer) = (int)(value), CUSOLVER_STATUS_SUCCESS)
#define WANTS(jobz) ((jobz) == CUSOLVER_EIG_MODE_VECTOR)
#define LARGER(m, n) ((m) > (n) ? (m) : (n))

#define FACTORIZATIONS(T, type, real, kind, O, H)                                                                      \
    EXPORT cusolverStatus_t cusolverDn##T##potrf_bufferSize(cusolverDnHandle_t handle UNUSED,                          \
                                                            cublasFillMode_t uplo UNUSED, int n, type *A UNUSED,       \
                                                            int lda UNUSED, int *Lwork)                                \
    {                                                                                                                  \
        return SUCCESS_WITH(Lwork, work_elements(n));                                                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED, int n,       \
                                                 type *A UNUSED, int lda UNUSED, type *Workspace UNUSED,               \
                                                 int Lwork UNUSED, int *devInfo)                                       \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_potrf", kind, potrf_flops(n), 2. * n * n, 1, devInfo});  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED, int n,       \
                                                 int nrhs, const type *A UNUSED, int lda UNUSED, type *B UNUSED,       \
                                                 int ldb UNUSED, int *devInfo)                                         \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_potrs", kind, 2. * n * n * nrhs,                         \
                                                    (double)n * n + 2. * n * nrhs, 1, devInfo});                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED,       \
                                                        int n, type *Aarray[] UNUSED, int lda UNUSED, int *infoArray,  \
                                                        int batchSize)                                                 \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_potrf_batched", kind, potrf_flops(n), 2. * n * n,        \
                                                    batchSize, infoArray});                                            \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##potrsBatched(                                                               \
        cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED, int n, int nrhs, type *A[] UNUSED, int lda UNUSED,    \
        type *B[] UNUSED, int ldb UNUSED, int *d_info UNUSED, int batchSize)                                           \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_potrs_batched", kind, 2. * n * n * nrhs,                 \
                                                    (double)n * n + 2. * n * nrhs, batchSize, NULL});                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##getrf_bufferSize(cusolverDnHandle_t handle UNUSED, int m, int n,            \
                                                            type *A UNUSED, int lda UNUSED, int *Lwork)                \
    {                                                                                                                  \
        return SUCCESS_WITH(Lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##getrf(cusolverDnHandle_t handle, int m, int n, type *A UNUSED,              \
                                                 int lda UNUSED, type *Workspace UNUSED, int *devIpiv UNUSED,          \
                                                 int *devInfo)                                                         \
    {                                                                                                                  \
        return handle_solve(handle,                                                                                    \
                            &(struct solve){"cusolver_getrf", kind, getrf_flops(m, n), 2. * m * n, 1, devInfo});       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##getrs(                                                                      \
        cusolverDnHandle_t handle, cublasOperation_t trans UNUSED, int n, int nrhs, const type *A UNUSED,              \
        int lda UNUSED, const int *devIpiv UNUSED, type *B UNUSED, int ldb UNUSED, int *devInfo)                       \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_getrs", kind, 2. * n * n * nrhs,                         \
                                                    (double)n * n + 2. * n * nrhs, 1, devInfo});                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##geqrf_bufferSize(cusolverDnHandle_t handle UNUSED, int m, int n,            \
                                                            type *A UNUSED, int lda UNUSED, int *lwork)                \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##geqrf(cusolverDnHandle_t handle, int m, int n, type *A UNUSED,              \
                                                 int lda UNUSED, type *TAU UNUSED, type *Workspace UNUSED,             \
                                                 int Lwork UNUSED, int *devInfo)                                       \
    {                                                                                                                  \
        return handle_solve(handle,                                                                                    \
                            &(struct solve){"cusolver_geqrf", kind, geqrf_flops(m, n), 2. * m * n, 1, devInfo});       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##O##gqr_bufferSize(cusolverDnHandle_t handle UNUSED, int m, int n,           \
                                                             int k UNUSED, const type *A UNUSED, int lda UNUSED,       \
                                                             const type *tau UNUSED, int *lwork)                       \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##O##gqr(cusolverDnHandle_t handle, int m, int n, int k, type *A UNUSED,      \
                                                  int lda UNUSED, const type *tau UNUSED, type *work UNUSED,           \
                                                  int lwork UNUSED, int *info)                                         \
    {                                                                                                                  \
        return handle_solve(handle,                                                                                    \
                            &(struct solve){"cusolver_orgqr", kind, orgqr_flops(m, n, k), 2. * m * n, 1, info});       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##O##mqr_bufferSize(                                                          \
        cusolverDnHandle_t handle UNUSED, cublasSideMode_t side UNUSED, cublasOperation_t trans UNUSED, int m, int n,  \
        int k UNUSED, const type *A UNUSED, int lda UNUSED, const type *tau UNUSED, const type *C UNUSED,              \
        int ldc UNUSED, int *lwork)                                                                                    \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##O##mqr(                                                                     \
        cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans UNUSED, int m, int n, int k,         \
        const type *A UNUSED, int lda UNUSED, const type *tau UNUSED, type *C UNUSED, int ldc UNUSED,                  \
        type *work UNUSED, int lwork UNUSED, int *devInfo)                                                             \
    {                                                                                                                  \
        return handle_solve(handle,                                                                                    \
                            &(struct solve){"cusolver_ormqr", kind, 2. * m * n * k * (2 - (double)k / (side ? n : m)), \
                                            2. * m * n, 1, devInfo});                                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##sytrf_bufferSize(cusolverDnHandle_t handle UNUSED, int n, type *A UNUSED,   \
                                                            int lda UNUSED, int *lwork)                                \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(n));                                                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##sytrf(cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED, int n,       \
                                                 type *A UNUSED, int lda UNUSED, int *ipiv UNUSED, type *work UNUSED,  \
                                                 int lwork UNUSED, int *info)                                          \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_sytrf", kind, potrf_flops(n), 2. * n * n, 1, info});     \
    }

#define SPECTRA(T, type, real, kind, O, H)                                                                             \
    EXPORT cusolverStatus_t cusolverDn##T##H##evd_bufferSize(                                                          \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, cublasFillMode_t uplo UNUSED, int n,          \
        const type *A UNUSED, int lda UNUSED, const real *W UNUSED, int *lwork)                                        \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(n));                                                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##H##evd(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                   \
                                                  cublasFillMode_t uplo UNUSED, int n, type *A UNUSED, int lda UNUSED, \
                                                  real *W UNUSED, type *work UNUSED, int lwork UNUSED, int *info)      \
    {                                                                                                                  \
        return handle_solve(                                                                                           \
            handle, &(struct solve){"cusolver_syevd", kind, eigen_flops(n, WANTS(jobz)), 2. * n * n, 1, info});        \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##H##evj_bufferSize(                                                          \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, cublasFillMode_t uplo UNUSED, int n,          \
        const type *A UNUSED, int lda UNUSED, const real *W UNUSED, int *lwork, syevjInfo_t params UNUSED)             \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(n));                                                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##H##evj(                                                                     \
        cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo UNUSED, int n, type *A UNUSED,        \
        int lda UNUSED, real *W UNUSED, type *work UNUSED, int lwork UNUSED, int *info, syevjInfo_t params UNUSED)     \
    {                                                                                                                  \
        return handle_solve(                                                                                           \
            handle, &(struct solve){"cusolver_syevj", kind, eigen_flops(n, WANTS(jobz)), 2. * n * n, 1, info});        \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##H##evjBatched_bufferSize(                                                   \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, cublasFillMode_t uplo UNUSED, int n,          \
        const type *A UNUSED, int lda UNUSED, const real *W UNUSED, int *lwork, syevjInfo_t params UNUSED,             \
        int batchSize)                                                                                                 \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(n) * batchSize);                                                      \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##H##evjBatched(                                                              \
        cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo UNUSED, int n, type *A UNUSED,        \
        int lda UNUSED, real *W UNUSED, type *work UNUSED, int lwork UNUSED, int *info, syevjInfo_t params UNUSED,     \
        int batchSize)                                                                                                 \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_syevj_batched", kind, eigen_flops(n, WANTS(jobz)),       \
                                                    2. * n * n, batchSize, info});                                     \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvd_bufferSize(cusolverDnHandle_t handle UNUSED, int m, int n,            \
                                                            int *lwork)                                                \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvd(cusolverDnHandle_t handle, signed char jobu, signed char jobvt,       \
                                                 int m, int n, type *A UNUSED, int lda UNUSED, real *S UNUSED,         \
                                                 type *U UNUSED, int ldu UNUSED, type *VT UNUSED, int ldvt UNUSED,     \
                                                 type *work UNUSED, int lwork UNUSED, real *rwork UNUSED, int *info)   \
    {                                                                                                                  \
        return handle_solve(handle,                                                                                    \
                            &(struct solve){"cusolver_gesvd", kind, svd_flops(m, n, jobu != 'N' || jobvt != 'N'),      \
                                            4. * m * n, 1, info});                                                     \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdj_bufferSize(                                                          \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, int econ UNUSED, int m, int n,                \
        const type *A UNUSED, int lda UNUSED, const real *S UNUSED, const type *U UNUSED, int ldu UNUSED,              \
        const type *V UNUSED, int ldv UNUSED, int *lwork, gesvdjInfo_t params UNUSED)                                  \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)));                                                       \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdj(                                                                     \
        cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ UNUSED, int m, int n, type *A UNUSED,              \
        int lda UNUSED, real *S UNUSED, type *U UNUSED, int ldu UNUSED, type *V UNUSED, int ldv UNUSED,                \
        type *work UNUSED, int lwork UNUSED, int *info, gesvdjInfo_t params UNUSED)                                    \
    {                                                                                                                  \
        return handle_solve(                                                                                           \
            handle, &(struct solve){"cusolver_gesvdj", kind, svd_flops(m, n, WANTS(jobz)), 4. * m * n, 1, info});      \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdjBatched_bufferSize(                                                   \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, int m, int n, const type *A UNUSED,           \
        int lda UNUSED, const real *S UNUSED, const type *U UNUSED, int ldu UNUSED, const type *V UNUSED,              \
        int ldv UNUSED, int *lwork, gesvdjInfo_t params UNUSED, int batchSize)                                         \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)) * batchSize);                                           \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdjBatched(                                                              \
        cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, type *A UNUSED, int lda UNUSED,               \
        real *S UNUSED, type *U UNUSED, int ldu UNUSED, type *V UNUSED, int ldv UNUSED, type *work UNUSED,             \
        int lwork UNUSED, int *info, gesvdjInfo_t params UNUSED, int batchSize)                                        \
    {                                                                                                                  \
        return handle_solve(handle, &(struct solve){"cusolver_gesvdj_batched", kind, svd_flops(m, n, WANTS(jobz)),     \
                                                    4. * m * n, batchSize, info});                                     \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdaStridedBatched_bufferSize(                                            \
        cusolverDnHandle_t handle UNUSED, cusolverEigMode_t jobz UNUSED, int rank UNUSED, int m, int n,                \
        const type *d_A UNUSED, int lda UNUSED, long long int strideA UNUSED, const real *d_S UNUSED,                  \
        long long int strideS UNUSED, const type *d_U UNUSED, int ldu UNUSED, long long int strideU UNUSED,            \
        const type *d_V UNUSED, int ldv UNUSED, long long int strideV UNUSED, int *lwork, int batchSize)               \
    {                                                                                                                  \
        return SUCCESS_WITH(lwork, work_elements(LARGER(m, n)) * batchSize);                                           \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDn##T##gesvdaStridedBatched(                                                       \
        cusolverDnHandle_t handle, cusolverEigMode_t jobz, int rank UNUSED, int m, int n, const type *d_A UNUSED,      \
        int lda UNUSED, long long int strideA UNUSED, real *d_S UNUSED, long long int strideS UNUSED,                  \
        type *d_U UNUSED, int ldu UNUSED, long long int strideU UNUSED, type *d_V UNUSED, int ldv UNUSED,              \
        long long int strideV UNUSED, type *d_work UNUSED, int lwork UNUSED, int *d_info, double *h_R_nrmF,            \
        int batchSize)                                                                                                 \
    {                                                                                                                  \
        for (int i = 0; h_R_nrmF && i < batchSize; i++)                                                                \
            h_R_nrmF[i] = 0;                                                                                           \
        return handle_solve(handle, &(struct solve){"cusolver_gesvda_batched", kind, svd_flops(m, n, WANTS(jobz)),     \
                                                    4. * m * n, batchSize, d_info});                                   \
    }

#define ALL(T, type, real, kind, O, H)                                                                                 \
    FACTORIZATIONS(T, type, real, kind, O, H)                                                                          \
    SPECTRA(T, type, real, kind, O, H)
ALL(S, float, float, CUDA_R_32F, or, sy)
ALL(D, double, double, CUDA_R_64F, or, sy)
ALL(C, cuComplex, float, CUDA_C_32F, un, he)
ALL(Z, cuDoubleComplex, double, CUDA_C_64F, un, he)
