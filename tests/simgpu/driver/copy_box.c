// Copies of boxes (2D and 3D), batched copies, and memsets.
#include <string.h>

#include "tests/simgpu/driver/copy.h"
#include "tests/simgpu/driver/ranges.h"

static CUresult copy_3d(const CUDA_MEMCPY3D *box, CUstream handle, CUstream otherwise, bool is_sync)
{
    struct work work;
    const CUresult result = box ? work_copy(&work, box) : CUDA_ERROR_INVALID_VALUE;
    return result ? result : copy_run(&work, handle, otherwise, is_sync);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *given, CUstream handle, CUstream otherwise, bool is_sync)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D box = {.srcXInBytes = given->srcXInBytes,
                               .srcY = given->srcY,
                               .srcMemoryType = given->srcMemoryType,
                               .srcHost = given->srcHost,
                               .srcDevice = given->srcDevice,
                               .srcArray = given->srcArray,
                               .srcPitch = given->srcPitch,
                               .dstXInBytes = given->dstXInBytes,
                               .dstY = given->dstY,
                               .dstMemoryType = given->dstMemoryType,
                               .dstHost = given->dstHost,
                               .dstDevice = given->dstDevice,
                               .dstArray = given->dstArray,
                               .dstPitch = given->dstPitch,
                               .WidthInBytes = given->WidthInBytes,
                               .Height = given->Height,
                               .Depth = 1};
    return copy_3d(&box, handle, otherwise, is_sync);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *given, CUstream handle, CUstream otherwise, bool is_sync)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D box = {.srcXInBytes = given->srcXInBytes,
                               .srcY = given->srcY,
                               .srcZ = given->srcZ,
                               .srcMemoryType = given->srcMemoryType,
                               .srcHost = given->srcHost,
                               .srcDevice = given->srcDevice,
                               .srcArray = given->srcArray,
                               .srcPitch = given->srcPitch,
                               .srcHeight = given->srcHeight,
                               .dstXInBytes = given->dstXInBytes,
                               .dstY = given->dstY,
                               .dstZ = given->dstZ,
                               .dstMemoryType = given->dstMemoryType,
                               .dstHost = given->dstHost,
                               .dstDevice = given->dstDevice,
                               .dstArray = given->dstArray,
                               .dstPitch = given->dstPitch,
                               .dstHeight = given->dstHeight,
                               .WidthInBytes = given->WidthInBytes,
                               .Height = given->Height,
                               .Depth = given->Depth};
    return copy_3d(&box, handle, otherwise, is_sync);
}

ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *pCopy),
             copy_2d(pCopy, NULL, default_stream, true))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *pCopy),
             copy_2d(pCopy, NULL, default_stream, true))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream),
             copy_2d(pCopy, hStream, default_stream, false))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *pCopy),
             copy_3d(pCopy, NULL, default_stream, true))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream),
             copy_3d(pCopy, hStream, default_stream, false))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *pCopy),
             copy_3d_peer(pCopy, NULL, default_stream, true))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream),
             copy_3d_peer(pCopy, hStream, default_stream, false))

static CUresult copy_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, size_t attribute_count,
                           size_t *fail_index, CUstream handle)
{
    if (!to || !from || !sizes || !count || !attribute_count || attribute_count > count || !handle ||
        handle == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct work work;
        CUresult result = work_copy_1d(&work, to[i], CU_MEMORYTYPE_UNIFIED, from[i], CU_MEMORYTYPE_UNIFIED, sizes[i]);
        if (!result)
            result = copy_run(&work, handle, handle, false);
        if (result) {
            if (fail_index)
                *fail_index = i;
            return result;
        }
    }
    return CUDA_SUCCESS;
}

ENTRY_STREAM(NEED_CONTEXT, cuMemcpyBatchAsync, _ptsz,
             (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
              size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream),
             ((void)attrs, (void)attrsIdxs, copy_batch(dsts, srcs, sizes, count, numAttrs, failIdx, hStream)))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpyBatchAsync_v2, _ptsz,
             (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
              size_t *attrsIdxs, size_t numAttrs, CUstream hStream),
             ((void)attrs, (void)attrsIdxs, copy_batch(dsts, srcs, sizes, count, numAttrs, NULL, hStream)))

// Memsets are asynchronous to the host, except of pinned host memory.
static CUresult set(CUdeviceptr to, size_t pitch, unsigned value, unsigned element_bytes, size_t width, size_t height,
                    CUstream handle, CUstream otherwise, bool is_sync)
{
    const CUDA_MEMSET_NODE_PARAMS given = {
        .dst = to, .pitch = pitch, .value = value, .elementSize = element_bytes, .width = width, .height = height};
    struct work work;
    struct CUstream_st *stream;
    struct op *op;
    CUresult result = work_set(&work, &given);
    if (result || (result = stream_get(handle, otherwise, &stream)))
        return result;
    if (is_sync && (result = stream_not_capturing(stream)))
        return result;
    if (!width || !height)
        return CUDA_SUCCESS;
    result = work_submit(&work, stream, &op);
    if (result || !op)
        return result;
    const struct range *range = range_find((const void *)to);
    if (is_sync && range && (range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED))
        op_wait(op);
    op_unref(op);
    return CUDA_SUCCESS;
}

// One memset in its four forms: synchronous or not, one row or many.
#define MEMSET(bits, type, parameter)                                                                                  \
    ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemsetD##bits##_v2, _ptds,                                                   \
                 (CUdeviceptr dstDevice, type parameter, size_t N),                                                    \
                 set(dstDevice, 0, parameter, bits / 8, N, 1, NULL, default_stream, true))                             \
    ENTRY_STREAM(NEED_CONTEXT, cuMemsetD##bits##Async, _ptsz,                                                          \
                 (CUdeviceptr dstDevice, type parameter, size_t N, CUstream hStream),                                  \
                 set(dstDevice, 0, parameter, bits / 8, N, 1, hStream, default_stream, false))                         \
    ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemsetD2D##bits##_v2, _ptds,                                                 \
                 (CUdeviceptr dstDevice, size_t dstPitch, type parameter, size_t Width, size_t Height),                \
                 set(dstDevice, dstPitch, parameter, bits / 8, Width, Height, NULL, default_stream, true))             \
    ENTRY_STREAM(                                                                                                      \
        NEED_CONTEXT, cuMemsetD2D##bits##Async, _ptsz,                                                                 \
        (CUdeviceptr dstDevice, size_t dstPitch, type parameter, size_t Width, size_t Height, CUstream hStream),       \
        set(dstDevice, dstPitch, parameter, bits / 8, Width, Height, hStream, default_stream, false))

MEMSET(8, unsigned char, uc)
MEMSET(16, unsigned short, us)
MEMSET(32, unsigned, ui)
