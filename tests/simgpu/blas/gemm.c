#include "tests/simgpu/blas/gemm.h"

#include <stdio.h>

static const struct type {
    cudaDataType type;
    double bytes, flops_factor;
    bool is_complex;
    const char *letters; // in the names of kernels
} types[] = {
    {CUDA_R_16F, 2, 1, false, "hsh"},        {CUDA_R_16BF, 2, 1, false, "tst"},
    {CUDA_R_32F, 4, 1.0 / 15, false, "f32"}, {CUDA_R_64F, 8, 1.0 / 15, false, "f64"},
    {CUDA_C_32F, 8, 1.0 / 15, true, "c32"},  {CUDA_C_64F, 16, 1.0 / 15, true, "c64"},
    {CUDA_R_8I, 1, 2, false, "i8"},          {CUDA_R_32I, 4, 1.0 / 15, false, "i32"},
    {CUDA_R_8F_E4M3, 1, 2, false, "qst"},    {CUDA_R_8F_E5M2, 1, 2, false, "qst"},
};

static const struct type *find(cudaDataType wanted)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == wanted)
            return &types[i];
    }
    return NULL;
}

double element_bytes(cudaDataType type)
{
    const struct type *found = find(type);
    return found ? found->bytes : 0;
}

cublasComputeType_t compute_of(cudaDataType type)
{
    switch ((int)type) {
    case CUDA_R_16F:
        return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
    case CUDA_C_64F:
        return CUBLAS_COMPUTE_64F;
    default:
        return CUBLAS_COMPUTE_32F;
    }
}

static char letter(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N ? 'n' : operation == CUBLAS_OP_T ? 't' : 'c';
}

// Names as profilers show them for a device of compute capability 9.0: "nvjet" for 16- and 8-bit types, "xmma" for
// others.
static void name_kernel(char *name, size_t size, const struct gemm *gemm, const struct type *type, bool is_tf32,
                        unsigned tile)
{
    const char a = letter(gemm->op_a), b = letter(gemm->op_b);
    if (type->letters[2] && type->letters[0] != 'f' && type->letters[0] != 'c' && type->letters[0] != 'i')
        snprintf(name, size, "nvjet_%s_%ux%u_64x4_1x2_h_bz%s_%c%cN", type->letters, tile, tile,
                 gemm->has_bias ? "_bias" : "", a == 'n' ? 'N' : 'T', b == 'n' ? 'N' : 'T');
    else
        snprintf(name, size, "sm80_xmma_gemm_%s%s_%s_%s_%c%c_n_tilesize%ux%ux8_stage3_%s_execute_kernel_cublas",
                 type->letters, type->letters, is_tf32 ? "tf32" : type->letters, type->letters, a, b, tile, tile,
                 is_tf32 ? "tensor16x8x8" : "ffma");
}

cublasStatus_t gemm_launch(const struct gemm *gemm, CUstream stream)
{
    char name[160];
    const struct type *a = find(gemm->a), *b = find(gemm->b), *c = find(gemm->c);
    if (gemm->m < 0 || gemm->n < 0 || gemm->k < 0 || gemm->batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!a || !b || !c)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!gemm->m || !gemm->n || !gemm->batch)
        return CUBLAS_STATUS_SUCCESS;
    const bool is_tf32 = gemm->a == CUDA_R_32F && gemm->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k, batch = (double)gemm->batch;
    const unsigned tile = m >= 1024 && n >= 1024 ? 128 : 64;
    const double tiles_m = (double)((gemm->m + tile - 1) / tile), tiles_n = (double)((gemm->n + tile - 1) / tile);
    name_kernel(name, sizeof name, gemm, a, is_tf32, tile);
    return kernel_launch(&(struct kernel){.name = name,
                                          .flops = (a->is_complex ? 8 : 2) * m * n * k * batch,
                                          .flops_factor = is_tf32 ? 0.5 : a->flops_factor,
                                          .bytes = batch * (m * k * a->bytes + k * n * b->bytes + m * n * c->bytes),
                                          .blocks = tiles_m * tiles_n * batch,
                                          .threads = 256},
                         stream);
}
