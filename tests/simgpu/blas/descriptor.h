// Descriptors of cublasLt: each keeps what it was made of and the attributes that were set, in the space that the
// public header reserves.
#ifndef GW_SIMGPU_BLAS_DESCRIPTOR_H
#define GW_SIMGPU_BLAS_DESCRIPTOR_H

#include <cublasLt.h>

#include "tests/simgpu/blas/gemm.h"

struct shape {
    cudaDataType type;
    int64_t rows, columns, batch;
};

// Reads a layout. Returns false when it is none.
bool layout_shape(struct shape *ret_shape, cublasLtMatrixLayout_t layout);

// The product that the descriptors amount to: CUBLAS_STATUS_INVALID_VALUE where their shapes do not fit.
cublasStatus_t matmul_gemm(struct gemm *ret_gemm, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                           cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d);

#endif
