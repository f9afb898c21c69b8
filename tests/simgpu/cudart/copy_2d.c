/* Copies of rows, and copies with arrays at one end or both. Compiled once for each default stream. */
#include "copy.h"

/* One end of a 2D copy. */
struct end {
    CUmemorytype type;
    const void *pointer; /* or */
    CUarray array;
    size_t pitch;
    size_t x_bytes;
    size_t y;
};

static struct end source_memory(const void *pointer, size_t pitch, enum cudaMemcpyKind kind)
{
    return (struct end){.type = rt_source_type(kind), .pointer = pointer, .pitch = pitch};
}

static struct end target_memory(void *pointer, size_t pitch, enum cudaMemcpyKind kind)
{
    return (struct end){.type = rt_target_type(kind), .pointer = pointer, .pitch = pitch};
}

static struct end array_part(cudaArray_const_t array, size_t x_bytes, size_t y)
{
    return (struct end){.type = CU_MEMORYTYPE_ARRAY, .array = (CUarray)array, .x_bytes = x_bytes, .y = y};
}

static CUDA_MEMCPY2D describe(struct end target, struct end source, size_t width_bytes, size_t height)
{
    return (CUDA_MEMCPY2D){
        .srcXInBytes = source.x_bytes,
        .srcY = source.y,
        .srcMemoryType = source.type,
        .srcHost = source.pointer,
        .srcDevice = (CUdeviceptr)source.pointer,
        .srcArray = source.array,
        .srcPitch = source.pitch,
        .dstXInBytes = target.x_bytes,
        .dstY = target.y,
        .dstMemoryType = target.type,
        .dstHost = (void *)target.pointer,
        .dstDevice = (CUdeviceptr)target.pointer,
        .dstArray = target.array,
        .dstPitch = target.pitch,
        .WidthInBytes = width_bytes,
        .Height = height,
    };
}

static CUresult copy_now(struct end target, struct end source, size_t width_bytes, size_t height)
{
    CUDA_MEMCPY2D copy = describe(target, source, width_bytes, height);
    return width_bytes && height ? DRV(cuMemcpy2DUnaligned)(&copy) : CUDA_SUCCESS;
}

static CUresult copy_later(struct end target, struct end source, size_t width_bytes, size_t height, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = describe(target, source, width_bytes, height);
    return width_bytes && height ? DRV(cuMemcpy2DAsync)(&copy, stream) : CUDA_SUCCESS;
}

/* Rows narrower than what is copied of them. */
static cudaError_t check_pitch(size_t target_pitch, size_t source_pitch, size_t width_bytes, size_t height)
{
    bool bad = height > 1 && (target_pitch < width_bytes || source_pitch < width_bytes);
    return bad ? cudaErrorInvalidPitchValue : cudaSuccess;
}

static cudaError_t rows_now(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            enum cudaMemcpyKind kind)
{
    cudaError_t result = check_pitch(dpitch, spitch, width, height);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)copy_now(target_memory(dst, dpitch, kind), source_memory(src, spitch, kind), width, height);
}

static cudaError_t rows_later(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t result = check_pitch(dpitch, spitch, width, height);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)copy_later(target_memory(dst, dpitch, kind), source_memory(src, spitch, kind), width, height,
                                   stream);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2D, rows_now(dst, dpitch, src, spitch, width, height, kind));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2DAsync, rows_later(dst, dpitch, src, spitch, width, height, kind, stream));
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2DToArray,
            copy_now(array_part(dst, wOffset, hOffset), source_memory(src, spitch, kind), width, height));
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2DToArrayAsync,
            copy_later(array_part(dst, wOffset, hOffset), source_memory(src, spitch, kind), width, height, stream));
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                  size_t width, size_t height, enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2DFromArray,
            copy_now(target_memory(dst, dpitch, kind), array_part(src, wOffset, hOffset), width, height));
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy2DFromArrayAsync,
            copy_later(target_memory(dst, dpitch, kind), array_part(src, wOffset, hOffset), width, height, stream));
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                                     size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
                                     enum cudaMemcpyKind kind)
{
    (void)kind;
    RT_CALL(RT_CONTEXT, cudaMemcpy2DArrayToArray,
            copy_now(array_part(dst, wOffsetDst, hOffsetDst), array_part(src, wOffsetSrc, hOffsetSrc), width, height));
}

/* The deprecated copies of COUNT bytes that wrap round at the array's right edge: at most a partial first row, whole
 * rows and a partial last one. Each piece is handed to COPY_PIECE. */
struct wrap {
    cudaArray_const_t array;
    char *memory;
    enum cudaMemcpyKind kind;
    bool to_array;
    bool now;
    cudaStream_t stream;
};

static CUresult copy_piece(const struct wrap *wrap, size_t x_bytes, size_t y, size_t offset, size_t width_bytes,
                           size_t height)
{
    struct end array = array_part(wrap->array, x_bytes, y);
    struct end memory = wrap->to_array ? source_memory(wrap->memory + offset, width_bytes, wrap->kind)
                                       : target_memory(wrap->memory + offset, width_bytes, wrap->kind);
    struct end target = wrap->to_array ? array : memory;
    struct end source = wrap->to_array ? memory : array;
    return wrap->now ? copy_now(target, source, width_bytes, height)
                     : copy_later(target, source, width_bytes, height, wrap->stream);
}

static CUresult copy_wrapped(const struct wrap *wrap, size_t x_bytes, size_t y, size_t count)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    size_t element;
    size_t offset = 0;
    CUresult result = DRV(cuArray3DGetDescriptor)(&descriptor, (CUarray)wrap->array);
    if (result == CUDA_SUCCESS)
        result = rt_array_element_bytes((CUarray)wrap->array, &element);
    if (result != CUDA_SUCCESS)
        return result;

    size_t row_bytes = descriptor.Width * element;
    if (x_bytes >= row_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (x_bytes) {
        size_t first = count < row_bytes - x_bytes ? count : row_bytes - x_bytes;
        result = copy_piece(wrap, x_bytes, y++, 0, first, 1);
        offset = first;
    }
    size_t rows = (count - offset) / row_bytes;
    if (result == CUDA_SUCCESS && rows)
        result = copy_piece(wrap, 0, y, offset, row_bytes, rows);
    offset += rows * row_bytes;
    if (result == CUDA_SUCCESS && offset < count)
        result = copy_piece(wrap, 0, y + rows, offset, count - offset, 1);
    return result;
}

static CUresult to_array(cudaArray_t dst, size_t x_bytes, size_t y, const void *src, size_t count,
                         enum cudaMemcpyKind kind, bool now, cudaStream_t stream)
{
    struct wrap wrap = {dst, (char *)src, kind, true, now, stream};
    return copy_wrapped(&wrap, x_bytes, y, count);
}

static CUresult from_array(void *dst, cudaArray_const_t src, size_t x_bytes, size_t y, size_t count,
                           enum cudaMemcpyKind kind, bool now, cudaStream_t stream)
{
    struct wrap wrap = {src, dst, kind, false, now, stream};
    return copy_wrapped(&wrap, x_bytes, y, count);
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                              enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyToArray, to_array(dst, wOffset, hOffset, src, count, kind, true, NULL));
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                                   enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyToArrayAsync, to_array(dst, wOffset, hOffset, src, count, kind, false, stream));
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                                enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyFromArray, from_array(dst, src, wOffset, hOffset, count, kind, true, NULL));
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyFromArrayAsync, from_array(dst, src, wOffset, hOffset, count, kind, false, stream));
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                                   size_t wOffsetSrc, size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
{
    (void)kind;
    RT_CALL(RT_CONTEXT, cudaMemcpyArrayToArray,
            copy_now(array_part(dst, wOffsetDst, hOffsetDst), array_part(src, wOffsetSrc, hOffsetSrc), count, 1));
}
