#include "tests/simgpu/dnn/conv.h"

#include <stdio.h>

// Rates as multiples of the configured one, letters as in the names of kernels: float is computed with TF32, which
// cuDNN's default allows.
static const struct type {
    cudnnDataType_t type;
    double bytes, flops_factor;
    const char *letters, *unit;
} types[] = {
    {CUDNN_DATA_FLOAT, 4, 0.5, "tf32f32_tf32f32_f32", "tensor16x8x8"},
    {CUDNN_DATA_HALF, 2, 1, "f16f16_f16f32_f32", "tensor16x8x16"},
    {CUDNN_DATA_BFLOAT16, 2, 1, "bf16bf16_bf16f32_f32", "tensor16x8x16"},
    {CUDNN_DATA_DOUBLE, 8, 1.0 / 15, "f64f64_f64f64_f64", "ffma"},
    {CUDNN_DATA_INT8, 1, 2, "i8i8_i8i32_f32", "tensor16x8x32"},
    {CUDNN_DATA_UINT8, 1, 2, "u8u8_u8i32_f32", "tensor16x8x32"},
    {CUDNN_DATA_INT32, 4, 1.0 / 15, NULL, NULL},
    {CUDNN_DATA_INT64, 8, 1.0 / 15, NULL, NULL},
    {CUDNN_DATA_BOOLEAN, 1, 1, NULL, NULL},
    {CUDNN_DATA_FP8_E4M3, 1, 2, "e4m3e4m3_e4m3f32_f32", "tensor16x8x32"},
    {CUDNN_DATA_FP8_E5M2, 1, 2, "e5m2e5m2_e5m2f32_f32", "tensor16x8x32"},
};

static const struct type *find(cudnnDataType_t wanted)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == wanted)
            return &types[i];
    }
    return NULL;
}

double type_bytes(cudnnDataType_t type)
{
    const struct type *found = find(type);
    return found ? found->bytes : 0;
}

static double product(const int64_t *sizes, int count)
{
    double all = 1;
    for (int i = 0; i < count; i++)
        all *= (double)sizes[i];
    return all;
}

static double tiles(double size)
{
    const double tile = 128;
    return size <= tile ? 1 : size / tile;
}

cudnnStatus_t conv_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], const struct conv *conv)
{
    static const char *const passes[] = {
        [CONV_FORWARD] = "fprop", [CONV_DATA_GRADIENT] = "dgrad", [CONV_FILTER_GRADIENT] = "wgrad"};
    const struct type *type = find(conv->type);
    const double x = product(conv->x, conv->dimensions), w = product(conv->w, conv->dimensions),
                 y = product(conv->y, conv->dimensions);
    if (!type || !type->letters)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (conv->dimensions < 3 || x <= 0 || w <= 0 || y <= 0 || conv->w[0] != conv->y[1] || conv->x[0] != conv->y[0])
        return CUDNN_STATUS_BAD_PARAM;
    // As a product of matrices: what one pass writes is the product of two of these.
    const double filters = (double)conv->w[0], filter = w / filters, places = y / filters;
    const double rows = conv->direction == CONV_FILTER_GRADIENT ? filters : places;
    const double columns = conv->direction == CONV_FORWARD ? filters : filter;
    snprintf(name, CONV_NAME_SIZE,
             "sm80_xmma_%s_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x32_stage3_g1_%s_kernel_cudnn",
             passes[conv->direction], type->letters, type->unit);
    *ret_kernel = (struct kernel){.name = name,
                                  .flops = 2 * y * filter,
                                  .flops_factor = type->flops_factor,
                                  .bytes = (x + w + y) * type->bytes,
                                  .blocks = tiles(rows) * tiles(columns),
                                  .threads = 128};
    return CUDNN_STATUS_SUCCESS;
}
