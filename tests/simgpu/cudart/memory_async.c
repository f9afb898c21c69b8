/* Memory in stream order. Compiled once for each default stream. */
#include "runtime.h"

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    RT_CALL(RT_CONTEXT, cudaMallocAsync,
            RT_REQUIRE(devPtr, DRV(cuMemAllocAsync)((CUdeviceptr *)devPtr, size, hStream)));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaMallocFromPoolAsync,
            RT_REQUIRE(ptr, DRV(cuMemAllocFromPoolAsync)((CUdeviceptr *)ptr, size, memPool, stream)));
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    RT_CALL(RT_CONTEXT, cudaFreeAsync, DRV(cuMemFreeAsync)((CUdeviceptr)devPtr, hStream));
}

#define NAME_PREFETCH_V2 RT_NAME_V2("cudaMemPrefetchAsync") RT_SUFFIX_PTSZ

cudaError_t rt_mem_prefetch(const void *pointer, size_t count, struct cudaMemLocation location, unsigned flags,
                            cudaStream_t stream) RT_SYMBOL(NAME_PREFETCH_V2);

cudaError_t rt_mem_prefetch(const void *pointer, size_t count, struct cudaMemLocation location, unsigned flags,
                            cudaStream_t stream)
{
    CUmemLocation target = {.type = (CUmemLocationType)location.type, .id = location.id};
    RT_CALL_NAMED(RT_CONTEXT, NAME_PREFETCH_V2,
                  DRV(cuMemPrefetchAsync)((CUdeviceptr)pointer, count, target, flags, stream));
}

#if RT_MAJOR == 12
#define NAME_PREFETCH_V1 "cudaMemPrefetchAsync" RT_SUFFIX_PTSZ

cudaError_t rt_mem_prefetch_v1(const void *pointer, size_t count, int device, cudaStream_t stream)
    RT_SYMBOL(NAME_PREFETCH_V1);

cudaError_t rt_mem_prefetch_v1(const void *pointer, size_t count, int device, cudaStream_t stream)
{
    CUmemLocation target = {.type = device == cudaCpuDeviceId ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                            .id = device == cudaCpuDeviceId ? 0 : device};
    RT_CALL_NAMED(RT_CONTEXT, NAME_PREFETCH_V1,
                  DRV(cuMemPrefetchAsync)((CUdeviceptr)pointer, count, target, 0, stream));
}
#endif
