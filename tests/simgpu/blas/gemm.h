// Products of matrices: which kernel the library takes for one, and what it costs.
#ifndef GW_SIMGPU_BLAS_GEMM_H
#define GW_SIMGPU_BLAS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/blas/kernel.h"

// C (m by n) = A (m by k) times B (k by n), `batch` times.
struct gemm {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k, batch;
    cudaDataType a, b, c;
    cublasComputeType_t compute;
    bool has_bias;
};

// Bytes of an element; 0: no such type.
double element_bytes(cudaDataType type);

// What type the single-letter names of BLAS stand for: the compute type of S, D, C and Z.
cublasComputeType_t compute_of(cudaDataType type);

// Checks the shape and launches one kernel; nothing for an empty product.
cublasStatus_t gemm_launch(const struct gemm *gemm, CUstream stream);

#endif
