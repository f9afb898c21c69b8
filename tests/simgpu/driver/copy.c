// Copies of one row: every cuMemcpy* but the 2D, 3D and batched ones.
#include "tests/simgpu/driver/copy.h"

#include "tests/simgpu/driver/array.h"

CUresult copy_run(const struct work *work, CUstream handle, CUstream otherwise, bool is_sync)
{
    struct CUstream_st *stream;
    struct op *op;
    const struct copy_work *copy = &work->copy;
    const size_t bytes = copy->box.width_bytes * copy->box.height * copy->box.depth;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || (is_sync && (result = stream_not_capturing(stream))))
        return result;
    if (!bytes)
        return CUDA_SUCCESS;
    const bool is_staged = copy->kind == OP_H2D && copy->is_pageable;
    if (is_sync && is_staged) {
        struct op *tail = stream_tail(stream);
        op_wait(tail);
        op_unref(tail);
    }
    result = work_submit(work, stream, &op);
    if (result || !op)
        return result;
    // When the call returns, by NVIDIA's "API synchronization behavior".
    if (copy->kind == OP_MARKER || (copy->kind == OP_D2H && copy->is_pageable) ||
        (is_sync && !is_staged && copy->kind != OP_D2D && copy->kind != OP_P2P))
        op_wait(op);
    op_unref(op);
    return CUDA_SUCCESS;
}

static CUresult copy_1d(CUdeviceptr to, CUmemorytype to_type, CUdeviceptr from, CUmemorytype from_type,
                        size_t size_bytes, CUstream handle, CUstream otherwise, bool is_sync)
{
    struct work work;
    const CUresult result = work_copy_1d(&work, to, to_type, from, from_type, size_bytes);
    return result ? result : copy_run(&work, handle, otherwise, is_sync);
}

#define HOST(pointer) (CUdeviceptr)(pointer), CU_MEMORYTYPE_HOST
#define DEVICE(pointer) (pointer), CU_MEMORYTYPE_DEVICE
#define UNIFIED(pointer) (pointer), CU_MEMORYTYPE_UNIFIED

// A synchronous copy and its asynchronous twin, each with both default streams.
#define COPY(name, version, parameters, async_parameters, arguments)                                                   \
    ENTRY_STREAM(NEED_CONTEXT | UNSAFE, name##version, _ptds, parameters,                                              \
                 copy_1d(arguments, ByteCount, NULL, default_stream, true))                                            \
    ENTRY_STREAM(NEED_CONTEXT, name##Async##version, _ptsz, async_parameters,                                          \
                 copy_1d(arguments, ByteCount, hStream, default_stream, false))
#define PAIR(to, from) to, from

COPY(cuMemcpy, , (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
     (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), PAIR(UNIFIED(dst), UNIFIED(src)))
COPY(cuMemcpyHtoD, _v2, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
     (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
     PAIR(DEVICE(dstDevice), HOST(srcHost)))
COPY(cuMemcpyDtoH, _v2, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
     (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), PAIR(HOST(dstHost), DEVICE(srcDevice)))
COPY(cuMemcpyDtoD, _v2, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
     (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
     PAIR(DEVICE(dstDevice), DEVICE(srcDevice)))

static CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
                          CUstream handle, CUstream otherwise, bool is_sync)
{
    if (!IS(to_context, MAGIC_CONTEXT) || !IS(from_context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy_1d(DEVICE(to), DEVICE(from), size, handle, otherwise, is_sync);
}

ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyPeer, _ptds,
             (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
              size_t ByteCount),
             copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, default_stream, true))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpyPeerAsync, _ptsz,
             (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
              size_t ByteCount, CUstream hStream),
             copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, default_stream, false))

// Copies to and from one-dimensional arrays: an offset and a size in their first row.
static CUresult copy_array(CUarray to_array, size_t to_offset, CUdeviceptr to, CUmemorytype to_type, CUarray from_array,
                           size_t from_offset, CUdeviceptr from, CUmemorytype from_type, size_t size_bytes,
                           CUstream handle, CUstream otherwise, bool is_sync)
{
    const CUDA_MEMCPY3D box = {.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : to_type,
                               .dstArray = to_array,
                               .dstXInBytes = to_offset,
                               .dstDevice = to,
                               .dstHost = (void *)to,
                               .srcMemoryType = from_array ? CU_MEMORYTYPE_ARRAY : from_type,
                               .srcArray = from_array,
                               .srcXInBytes = from_offset,
                               .srcDevice = from,
                               .srcHost = (void *)from,
                               .WidthInBytes = size_bytes,
                               .Height = 1,
                               .Depth = 1};
    struct work work;
    const CUresult result = work_copy(&work, &box);
    return result ? result : copy_run(&work, handle, otherwise, is_sync);
}

#define NO_ARRAY NULL, 0
#define NO_POINTER 0, CU_MEMORYTYPE_ARRAY

ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyDtoA_v2, _ptds,
             (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount),
             copy_array(dstArray, dstOffset, NO_POINTER, NO_ARRAY, DEVICE(srcDevice), ByteCount, NULL, default_stream,
                        true))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyAtoD_v2, _ptds,
             (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount),
             copy_array(NO_ARRAY, DEVICE(dstDevice), srcArray, srcOffset, NO_POINTER, ByteCount, NULL, default_stream,
                        true))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyHtoA_v2, _ptds,
             (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount),
             copy_array(dstArray, dstOffset, NO_POINTER, NO_ARRAY, HOST(srcHost), ByteCount, NULL, default_stream,
                        true))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyAtoH_v2, _ptds,
             (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount),
             copy_array(NO_ARRAY, HOST(dstHost), srcArray, srcOffset, NO_POINTER, ByteCount, NULL, default_stream,
                        true))
ENTRY_STREAM(NEED_CONTEXT | UNSAFE, cuMemcpyAtoA_v2, _ptds,
             (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount),
             copy_array(dstArray, dstOffset, NO_POINTER, srcArray, srcOffset, NO_POINTER, ByteCount, NULL,
                        default_stream, true))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpyHtoAAsync_v2, _ptsz,
             (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream),
             copy_array(dstArray, dstOffset, NO_POINTER, NO_ARRAY, HOST(srcHost), ByteCount, hStream, default_stream,
                        false))
ENTRY_STREAM(NEED_CONTEXT, cuMemcpyAtoHAsync_v2, _ptsz,
             (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream),
             copy_array(NO_ARRAY, HOST(dstHost), srcArray, srcOffset, NO_POINTER, ByteCount, hStream, default_stream,
                        false))
