/* Copies between devices, which have no per-thread form. */
#include "runtime.h"

static CUresult peer_contexts(int target_device, int source_device, CUcontext *ret_target, CUcontext *ret_source)
{
    CUresult result = rt_primary_context(target_device, ret_target);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(source_device, ret_source);
    return result;
}

static CUresult copy_peer_now(void *target, int target_device, const void *source, int source_device, size_t count)
{
    CUcontext target_context, source_context;
    CUresult result = peer_contexts(target_device, source_device, &target_context, &source_context);
    if (result == CUDA_SUCCESS && count)
        result = DRV(cuMemcpyPeer)((CUdeviceptr)target, target_context, (CUdeviceptr)source, source_context, count);
    return result;
}

static CUresult copy_peer_later(void *target, int target_device, const void *source, int source_device, size_t count,
                                cudaStream_t stream)
{
    CUcontext target_context, source_context;
    CUresult result = peer_contexts(target_device, source_device, &target_context, &source_context);
    if (result == CUDA_SUCCESS && count)
        result = DRV(cuMemcpyPeerAsync)((CUdeviceptr)target, target_context, (CUdeviceptr)source, source_context, count,
                                        stream);
    return result;
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyPeer, copy_peer_now(dst, dstDevice, src, srcDevice, count));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                                cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMemcpyPeerAsync, copy_peer_later(dst, dstDevice, src, srcDevice, count, stream));
}
