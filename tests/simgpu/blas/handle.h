// What stands behind a cublasHandle_t.
#ifndef GW_SIMGPU_BLAS_HANDLE_H
#define GW_SIMGPU_BLAS_HANDLE_H

#include "tests/simgpu/blas/gemm.h"

#define HANDLE_MAGIC 0x626c6173u // also of cublasLt's handles, which may be cublas's own, as documented

struct cublasContext {
    unsigned magic;
    cudaStream_t stream;
    cublasMath_t math_mode;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    int sm_count_target;
};

static inline bool is_handle(cublasHandle_t handle)
{
    return handle && handle->magic == HANDLE_MAGIC;
}

// The product as a function without a compute type asks for it: with TF32 when the handle's mode allows.
cublasStatus_t handle_gemm(cublasHandle_t handle, struct gemm gemm);

#endif
