/* Memsets. Compiled once for each default stream. */
#include "runtime.h"

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    RT_CALL(RT_CONTEXT, cudaMemset,
            count ? DRV(cuMemsetD8)((CUdeviceptr)devPtr, (unsigned char)value, count) : CUDA_SUCCESS);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemsetAsync,
            count ? DRV(cuMemsetD8Async)((CUdeviceptr)devPtr, (unsigned char)value, count, stream) : CUDA_SUCCESS);
}

static CUresult rows_now(void *pointer, size_t pitch, int value, size_t width_bytes, size_t height)
{
    if (!width_bytes || !height)
        return CUDA_SUCCESS;
    return DRV(cuMemsetD2D8)((CUdeviceptr)pointer, pitch, (unsigned char)value, width_bytes, height);
}

static CUresult rows_later(void *pointer, size_t pitch, int value, size_t width_bytes, size_t height,
                           cudaStream_t stream)
{
    if (!width_bytes || !height)
        return CUDA_SUCCESS;
    return DRV(cuMemsetD2D8Async)((CUdeviceptr)pointer, pitch, (unsigned char)value, width_bytes, height, stream);
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    RT_CALL(RT_CONTEXT, cudaMemset2D, rows_now(devPtr, pitch, value, width, height));
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemset2DAsync, rows_later(devPtr, pitch, value, width, height, stream));
}

/* A box of whole slices is one run of rows; else each slice is set on its own. */
static CUresult box(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent, bool now, cudaStream_t stream)
{
    CUresult result = CUDA_SUCCESS;
    size_t slices = extent.depth;
    size_t rows = extent.height;
    if (pitched.ysize == extent.height) {
        rows *= slices;
        slices = slices ? 1 : 0;
    }
    for (size_t slice = 0; slice < slices && result == CUDA_SUCCESS; slice++) {
        char *start = (char *)pitched.ptr + slice * pitched.ysize * pitched.pitch;
        result = now ? rows_now(start, pitched.pitch, value, extent.width, rows)
                     : rows_later(start, pitched.pitch, value, extent.width, rows, stream);
    }
    return result;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    RT_CALL(RT_CONTEXT, cudaMemset3D, box(pitchedDevPtr, value, extent, true, NULL));
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemset3DAsync, box(pitchedDevPtr, value, extent, false, stream));
}
