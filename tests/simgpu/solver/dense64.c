// The simulated cuSOLVER's dense functions with 64-bit sizes, which take the type as an argument.
#include "tests/simgpu/solver/solver.h"

#define HANDLE cusolverDnHandle_t handle UNUSED, cusolverDnParams_t params UNUSED
#define MATRIX(name) cudaDataType dataType##name UNUSED, const void *name UNUSED, int64_t ld##name UNUSED
#define OUT_MATRIX(name) cudaDataType dataType##name UNUSED, void *name UNUSED, int64_t ld##name UNUSED
#define VECTOR(name) cudaDataType dataType##name UNUSED, const void *name UNUSED
#define OUT_VECTOR(name) cudaDataType dataType##name UNUSED, void *name UNUSED
#define SIZES cudaDataType computeType UNUSED, size_t *device_bytes, size_t *host_bytes
#define WORK                                                                                                           \
    cudaDataType computeType UNUSED, void *bufferOnDevice UNUSED, size_t workspaceInBytesOnDevice UNUSED,              \
        void *bufferOnHost UNUSED, size_t workspaceInBytesOnHost UNUSED, int *info
#define LARGER(m, n) ((m) > (n) ? (m) : (n))
#define WANTS(jobz) ((jobz) == CUSOLVER_EIG_MODE_VECTOR)

static cusolverStatus_t sizes(cudaDataType type, double elements, size_t *ret_device_bytes, size_t *ret_host_bytes)
{
    if (!element_bytes(type))
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    *ret_device_bytes = (size_t)elements * element_bytes(type);
    *ret_host_bytes = 0;
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t solve(cusolverDnHandle_t handle, const char *name, cudaDataType type, double flops,
                              double elements, int *info)
{
    return handle_solve(handle, &(struct solve){name, type, flops, elements, 1, info});
}

EXPORT cusolverStatus_t cusolverDnXpotrf_bufferSize(HANDLE, cublasFillMode_t uplo UNUSED, int64_t n, MATRIX(A), SIZES)
{
    return sizes(dataTypeA, (double)work_elements(n), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXpotrf(HANDLE, cublasFillMode_t uplo UNUSED, int64_t n, OUT_MATRIX(A), WORK)
{
    return solve(handle, "cusolver_potrf", dataTypeA, potrf_flops((double)n), 2. * (double)(n * n), info);
}

EXPORT cusolverStatus_t cusolverDnXpotrs(HANDLE, cublasFillMode_t uplo UNUSED, int64_t n, int64_t nrhs, MATRIX(A),
                                         OUT_MATRIX(B), int *info)
{
    return solve(handle, "cusolver_potrs", dataTypeA, 2. * (double)(n * n * nrhs), (double)(n * (n + 2 * nrhs)), info);
}

EXPORT cusolverStatus_t cusolverDnXgetrf_bufferSize(HANDLE, int64_t m, int64_t n, MATRIX(A), SIZES)
{
    return sizes(dataTypeA, (double)work_elements(LARGER(m, n)), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXgetrf(HANDLE, int64_t m, int64_t n, OUT_MATRIX(A), int64_t *ipiv UNUSED, WORK)
{
    return solve(handle, "cusolver_getrf", dataTypeA, getrf_flops((double)m, (double)n), 2. * (double)(m * n), info);
}

EXPORT cusolverStatus_t cusolverDnXgetrs(HANDLE, cublasOperation_t trans UNUSED, int64_t n, int64_t nrhs, MATRIX(A),
                                         const int64_t *ipiv UNUSED, OUT_MATRIX(B), int *info)
{
    return solve(handle, "cusolver_getrs", dataTypeA, 2. * (double)(n * n * nrhs), (double)(n * (n + 2 * nrhs)), info);
}

EXPORT cusolverStatus_t cusolverDnXgeqrf_bufferSize(HANDLE, int64_t m, int64_t n, MATRIX(A), VECTOR(Tau), SIZES)
{
    return sizes(dataTypeA, (double)work_elements(LARGER(m, n)), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXgeqrf(HANDLE, int64_t m, int64_t n, OUT_MATRIX(A), OUT_VECTOR(Tau), WORK)
{
    return solve(handle, "cusolver_geqrf", dataTypeA, geqrf_flops((double)m, (double)n), 2. * (double)(m * n), info);
}

EXPORT cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t handle UNUSED, cublasFillMode_t uplo UNUSED,
                                                    int64_t n, int64_t nrhs UNUSED, MATRIX(A),
                                                    const int64_t *ipiv UNUSED, OUT_MATRIX(B), size_t *device_bytes,
                                                    size_t *host_bytes)
{
    return sizes(dataTypeA, (double)work_elements(n), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t handle, cublasFillMode_t uplo UNUSED, int64_t n,
                                         int64_t nrhs, MATRIX(A), const int64_t *ipiv UNUSED, OUT_MATRIX(B),
                                         void *bufferOnDevice UNUSED, size_t workspaceInBytesOnDevice UNUSED,
                                         void *bufferOnHost UNUSED, size_t workspaceInBytesOnHost UNUSED, int *info)
{
    return solve(handle, "cusolver_sytrs", dataTypeA, 2. * (double)(n * n * nrhs), (double)(n * (n + 2 * nrhs)), info);
}

EXPORT cusolverStatus_t cusolverDnXsyevd_bufferSize(HANDLE, cusolverEigMode_t jobz UNUSED, cublasFillMode_t uplo UNUSED,
                                                    int64_t n, MATRIX(A), VECTOR(W), SIZES)
{
    return sizes(dataTypeA, (double)work_elements(n), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXsyevd(HANDLE, cusolverEigMode_t jobz, cublasFillMode_t uplo UNUSED, int64_t n,
                                         OUT_MATRIX(A), OUT_VECTOR(W), WORK)
{
    return solve(handle, "cusolver_syevd", dataTypeA, eigen_flops((double)n, WANTS(jobz)), 2. * (double)(n * n), info);
}

EXPORT cusolverStatus_t cusolverDnXsyevBatched_bufferSize(HANDLE, cusolverEigMode_t jobz UNUSED,
                                                          cublasFillMode_t uplo UNUSED, int64_t n, MATRIX(A), VECTOR(W),
                                                          SIZES, int64_t batchSize)
{
    return sizes(dataTypeA, (double)(work_elements(n) * batchSize), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXsyevBatched(HANDLE, cusolverEigMode_t jobz, cublasFillMode_t uplo UNUSED, int64_t n,
                                               OUT_MATRIX(A), OUT_VECTOR(W), WORK, int64_t batchSize)
{
    return handle_solve(handle, &(struct solve){"cusolver_syev_batched", dataTypeA, eigen_flops((double)n, WANTS(jobz)),
                                                2. * (double)(n * n), (double)batchSize, info});
}

EXPORT cusolverStatus_t cusolverDnXgesvd_bufferSize(HANDLE, signed char jobu UNUSED, signed char jobvt UNUSED,
                                                    int64_t m, int64_t n, MATRIX(A), VECTOR(S), MATRIX(U), MATRIX(VT),
                                                    SIZES)
{
    return sizes(dataTypeA, (double)work_elements(LARGER(m, n)), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXgesvd(HANDLE, signed char jobu, signed char jobvt, int64_t m, int64_t n,
                                         OUT_MATRIX(A), OUT_VECTOR(S), OUT_MATRIX(U), OUT_MATRIX(VT), WORK)
{
    return solve(handle, "cusolver_gesvd", dataTypeA, svd_flops((double)m, (double)n, jobu != 'N' || jobvt != 'N'),
                 4. * (double)(m * n), info);
}

EXPORT cusolverStatus_t cusolverDnXgesvdp_bufferSize(HANDLE, cusolverEigMode_t jobz UNUSED, int econ UNUSED, int64_t m,
                                                     int64_t n, MATRIX(A), VECTOR(S), MATRIX(U), MATRIX(V), SIZES)
{
    return sizes(dataTypeA, (double)work_elements(LARGER(m, n)), device_bytes, host_bytes);
}

EXPORT cusolverStatus_t cusolverDnXgesvdp(HANDLE, cusolverEigMode_t jobz, int econ UNUSED, int64_t m, int64_t n,
                                          OUT_MATRIX(A), OUT_VECTOR(S), OUT_MATRIX(U), OUT_MATRIX(V), WORK,
                                          double *h_err_sigma)
{
    if (h_err_sigma)
        *h_err_sigma = 0;
    return solve(handle, "cusolver_gesvdp", dataTypeA, svd_flops((double)m, (double)n, WANTS(jobz)),
                 4. * (double)(m * n), info);
}

EXPORT cusolverStatus_t cusolverDnXgeev_bufferSize(HANDLE, cusolverEigMode_t jobvl UNUSED,
                                                   cusolverEigMode_t jobvr UNUSED, int64_t n, MATRIX(A), VECTOR(W),
                                                   cudaDataType dataTypeVL UNUSED, const void *VL UNUSED,
                                                   int64_t ldvl UNUSED, cudaDataType dataTypeVR UNUSED,
                                                   const void *VR UNUSED, int64_t ldvr UNUSED, SIZES)
{
    return sizes(dataTypeA, (double)work_elements(n), device_bytes, host_bytes);
}

// Hessenberg form and the QR algorithm: 10 n^3 without vectors, 25 n^3 with them.
EXPORT cusolverStatus_t cusolverDnXgeev(HANDLE, cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n,
                                        OUT_MATRIX(A), OUT_VECTOR(W), cudaDataType dataTypeVL UNUSED, void *VL UNUSED,
                                        int64_t ldvl UNUSED, cudaDataType dataTypeVR UNUSED, void *VR UNUSED,
                                        int64_t ldvr UNUSED, WORK)
{
    const double cube = (double)n * (double)n * (double)n;
    return solve(handle, "cusolver_geev", dataTypeA, (WANTS(jobvl) || WANTS(jobvr) ? 25 : 10) * cube,
                 2. * (double)(n * n), info);
}
