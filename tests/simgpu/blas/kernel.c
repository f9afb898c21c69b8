#include "tests/simgpu/blas/kernel.h"

static cublasStatus_t status_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

cublasStatus_t kernels_load(void)
{
    return status_of(stand_in_load());
}

cublasStatus_t kernel_launch(const struct kernel *kernel, CUstream stream)
{
    return status_of(stand_in_launch(kernel, stream));
}

cublasStatus_t kernels_clear(int *words, size_t count, CUstream stream)
{
    return status_of(stand_in_clear(words, count, stream));
}

cublasStatus_t kernels_wait(CUstream stream)
{
    return status_of(stand_in_wait(stream));
}
