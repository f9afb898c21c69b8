// The kernels of ../stand_in_kernel.h, with the answers of cuBLAS.
#ifndef GW_SIMGPU_BLAS_KERNEL_H
#define GW_SIMGPU_BLAS_KERNEL_H

#include <cublas_api.h>

#include "tests/simgpu/stand_in_kernel.h"

cublasStatus_t kernels_load(void);
cublasStatus_t kernel_launch(const struct kernel *kernel, CUstream stream);
cublasStatus_t kernels_clear(int *words, size_t count, CUstream stream);
cublasStatus_t kernels_wait(CUstream stream);

#endif
