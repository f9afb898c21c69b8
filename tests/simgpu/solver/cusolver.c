// Handles and parameters of the simulated cuSOLVER, and what its functions cost.
#include "tests/simgpu/solver/solver.h"

#include <library_types.h>
#include <stdlib.h>

// The newest that frameworks of today ask for, whichever headers this is built with.
#define SOLVER_MAJOR 12
#define SOLVER_MINOR 2
#define SOLVER_PATCH 0

#define COLUMNS 64
#define ELEMENTS_A_BLOCK 1024

size_t element_bytes(cudaDataType type)
{
    switch (type) {
    case CUDA_R_32F:
        return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
        return 8;
    case CUDA_C_64F:
        return 16;
    default:
        return 0;
    }
}

int64_t work_elements(int64_t size)
{
    return COLUMNS * (size > 0 ? size : 1);
}

double potrf_flops(double n)
{
    return n * n * n / 3;
}

double getrf_flops(double m, double n)
{
    return m >= n ? m * n * n - n * n * n / 3 : n * m * m - m * m * m / 3;
}

double geqrf_flops(double m, double n)
{
    return m >= n ? 2 * m * n * n - n * n * n * 2 / 3 : 2 * n * m * m - m * m * m * 2 / 3;
}

double orgqr_flops(double m, double n, double k)
{
    return 4 * m * n * k - 2 * (m + n) * k * k + k * k * k * 4 / 3;
}

double eigen_flops(double n, bool vectors)
{
    return (vectors ? 9 : 4. / 3) * n * n * n;
}

double svd_flops(double m, double n, bool vectors)
{
    const double large = m > n ? m : n, small = m > n ? n : m;
    return vectors ? 14 * large * small * small + 8 * small * small * small
                   : 4 * large * small * small - small * small * small * 4 / 3;
}

cusolverStatus_t handle_solve(cusolverDnHandle_t handle, const struct solve *solve)
{
    const double slow = 1.0 / 15; // float and double do not use tensor cores
    const bool is_complex = solve->type == CUDA_C_32F || solve->type == CUDA_C_64F;
    const bool is_double = solve->type == CUDA_R_64F || solve->type == CUDA_C_64F;
    const size_t bytes = element_bytes(solve->type);
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!bytes)
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    if (solve->flops < 0 || solve->elements < 0 || solve->batch < 0)
        return CUSOLVER_STATUS_INVALID_VALUE;
    const struct kernel kernel = {.name = solve->name,
                                  .flops = (is_complex ? 4 : 1) * solve->flops * solve->batch,
                                  .flops_factor = slow * (is_double ? 0.5 : 1),
                                  .bytes = (double)bytes * solve->elements * solve->batch,
                                  .blocks = solve->elements * solve->batch / ELEMENTS_A_BLOCK,
                                  .threads = 256};
    if (stand_in_launch(&kernel, handle->stream) != CUDA_SUCCESS ||
        stand_in_clear(solve->info, (size_t)solve->batch, handle->stream) != CUDA_SUCCESS)
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    return CUSOLVER_STATUS_SUCCESS;
}

EXPORT cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    if (!handle)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (stand_in_load() != CUDA_SUCCESS)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    struct cusolverDnContext *created = calloc(1, sizeof *created);
    if (!created)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *handle = created;
    return CUSOLVER_STATUS_SUCCESS;
}

EXPORT cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    free(handle);
    return handle ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

EXPORT cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    handle->stream = streamId;
    return CUSOLVER_STATUS_SUCCESS;
}

EXPORT cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *streamId)
{
    if (!handle || !streamId)
        return handle ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_NOT_INITIALIZED;
    *streamId = handle->stream;
    return CUSOLVER_STATUS_SUCCESS;
}

EXPORT cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
    static const int parts[] = {
        [MAJOR_VERSION] = SOLVER_MAJOR, [MINOR_VERSION] = SOLVER_MINOR, [PATCH_LEVEL] = SOLVER_PATCH};
    if (!value || (unsigned)type >= sizeof parts / sizeof *parts)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *value = parts[type];
    return CUSOLVER_STATUS_SUCCESS;
}

EXPORT cusolverStatus_t cusolverGetVersion(int *version)
{
    if (!version)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *version = SOLVER_MAJOR * 1000 + SOLVER_MINOR * 100 + SOLVER_PATCH;
    return CUSOLVER_STATUS_SUCCESS;
}

// What a program sets in parameters changes how a result is computed, of which there is none here.
#define PARAMETERS(name, type)                                                                                         \
    EXPORT cusolverStatus_t cusolverDnCreate##name(type *ret_created)                                                  \
    {                                                                                                                  \
        *ret_created = malloc(1);                                                                                      \
        return *ret_created ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;                                  \
    }                                                                                                                  \
    EXPORT cusolverStatus_t cusolverDnDestroy##name(type created)                                                      \
    {                                                                                                                  \
        free(created);                                                                                                 \
        return CUSOLVER_STATUS_SUCCESS;                                                                                \
    }
PARAMETERS(Params, cusolverDnParams_t)
PARAMETERS(SyevjInfo, syevjInfo_t)
PARAMETERS(GesvdjInfo, gesvdjInfo_t)

#define SET(name, type, value)                                                                                         \
    EXPORT cusolverStatus_t cusolverDnX##name(type info UNUSED, value UNUSED)                                          \
    {                                                                                                                  \
        return CUSOLVER_STATUS_SUCCESS;                                                                                \
    }
SET(syevjSetTolerance, syevjInfo_t, double tolerance)
SET(syevjSetMaxSweeps, syevjInfo_t, int max_sweeps)
SET(syevjSetSortEig, syevjInfo_t, int sort_eig)
SET(gesvdjSetTolerance, gesvdjInfo_t, double tolerance)
SET(gesvdjSetMaxSweeps, gesvdjInfo_t, int max_sweeps)
SET(gesvdjSetSortEig, gesvdjInfo_t, int sort_svd)
