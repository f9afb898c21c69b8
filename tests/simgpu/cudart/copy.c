/* Copies between linear memories and symbols. Compiled once for each default stream. */
#include "copy.h"
#include "register.h"

static CUresult copy_now(void *target, const void *source, size_t count, enum cudaMemcpyKind kind)
{
    if (!count)
        return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRV(cuMemcpyHtoD)((CUdeviceptr)target, source, count);
    case cudaMemcpyDeviceToHost:
        return DRV(cuMemcpyDtoH)(target, (CUdeviceptr)source, count);
    case cudaMemcpyDeviceToDevice:
        return DRV(cuMemcpyDtoD)((CUdeviceptr)target, (CUdeviceptr)source, count);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return DRV(cuMemcpy)((CUdeviceptr)target, (CUdeviceptr)source, count);
    default:
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    }
}

static CUresult copy_later(void *target, const void *source, size_t count, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    if (!count)
        return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRV(cuMemcpyHtoDAsync)((CUdeviceptr)target, source, count, stream);
    case cudaMemcpyDeviceToHost:
        return DRV(cuMemcpyDtoHAsync)(target, (CUdeviceptr)source, count, stream);
    case cudaMemcpyDeviceToDevice:
        return DRV(cuMemcpyDtoDAsync)((CUdeviceptr)target, (CUdeviceptr)source, count, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return DRV(cuMemcpyAsync)((CUdeviceptr)target, (CUdeviceptr)source, count, stream);
    default:
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    }
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy, copy_now(dst, src, count, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyAsync, copy_later(dst, src, count, kind, stream));
}

static cudaError_t to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                             enum cudaMemcpyKind kind, bool now, cudaStream_t stream)
{
    void *target;
    cudaError_t result = rt_variable_range(symbol, count, offset, &target);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)(now ? copy_now(target, source, count, kind) : copy_later(target, source, count, kind, stream));
}

static cudaError_t from_symbol(void *target, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                               bool now, cudaStream_t stream)
{
    void *source;
    cudaError_t result = rt_variable_range(symbol, count, offset, &source);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)(now ? copy_now(target, source, count, kind) : copy_later(target, source, count, kind, stream));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                               enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyToSymbol, to_symbol(symbol, src, count, offset, kind, true, NULL));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyFromSymbol, from_symbol(dst, symbol, count, offset, kind, true, NULL));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyToSymbolAsync, to_symbol(symbol, src, count, offset, kind, false, stream));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyFromSymbolAsync, from_symbol(dst, symbol, count, offset, kind, false, stream));
}

static CUresult copy_3d_now(const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    CUresult result = rt_copy_3d_to_driver(params, &copy);
    return result == CUDA_SUCCESS ? DRV(cuMemcpy3D)(&copy) : result;
}

static CUresult copy_3d_later(const struct cudaMemcpy3DParms *params, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy;
    CUresult result = rt_copy_3d_to_driver(params, &copy);
    return result == CUDA_SUCCESS ? DRV(cuMemcpy3DAsync)(&copy, stream) : result;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy3D, RT_REQUIRE(p, copy_3d_now(p)));
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy3DAsync, RT_REQUIRE(p, copy_3d_later(p, stream)));
}

static CUresult copy_3d_peer_now(const struct cudaMemcpy3DPeerParms *params)
{
    CUDA_MEMCPY3D_PEER copy;
    CUresult result = rt_copy_3d_peer_to_driver(params, &copy);
    return result == CUDA_SUCCESS ? DRV(cuMemcpy3DPeer)(&copy) : result;
}

static CUresult copy_3d_peer_later(const struct cudaMemcpy3DPeerParms *params, cudaStream_t stream)
{
    CUDA_MEMCPY3D_PEER copy;
    CUresult result = rt_copy_3d_peer_to_driver(params, &copy);
    return result == CUDA_SUCCESS ? DRV(cuMemcpy3DPeerAsync)(&copy, stream) : result;
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy3DPeer, RT_REQUIRE(p, copy_3d_peer_now(p)));
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpy3DPeerAsync, RT_REQUIRE(p, copy_3d_peer_later(p, stream)));
}
