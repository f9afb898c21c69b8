/* Memory pools. */
#include "runtime.h"

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetDefaultMemPool,
            RT_REQUIRE(memPool, DRV(cuDeviceGetDefaultMemPool)(memPool, device)));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    RT_CALL(RT_DRIVER, cudaDeviceSetMemPool, DRV(cuDeviceSetMemPool)(device, memPool));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetMemPool, RT_REQUIRE(memPool, DRV(cuDeviceGetMemPool)(memPool, device)));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    _Static_assert(sizeof *poolProps == sizeof(CUmemPoolProps), "both have the same layout and numbers");
    RT_CALL(RT_DRIVER, cudaMemPoolCreate,
            RT_REQUIRE(memPool && poolProps, DRV(cuMemPoolCreate)(memPool, (const CUmemPoolProps *)poolProps)));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    RT_CALL(RT_DRIVER, cudaMemPoolDestroy, DRV(cuMemPoolDestroy)(memPool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    RT_CALL(RT_DRIVER, cudaMemPoolTrimTo, DRV(cuMemPoolTrimTo)(memPool, minBytesToKeep));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    RT_CALL(RT_DRIVER, cudaMemPoolSetAttribute, DRV(cuMemPoolSetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    RT_CALL(RT_DRIVER, cudaMemPoolGetAttribute, DRV(cuMemPoolGetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
    _Static_assert(sizeof *descList == sizeof(CUmemAccessDesc), "both have the same layout and numbers");
    RT_CALL(RT_DRIVER, cudaMemPoolSetAccess,
            DRV(cuMemPoolSetAccess)(memPool, (const CUmemAccessDesc *)descList, count));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                 struct cudaMemLocation *location)
{
    RT_CALL(RT_DRIVER, cudaMemPoolGetAccess,
            DRV(cuMemPoolGetAccess)((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location));
}

cudaError_t cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                               enum cudaMemAllocationHandleType handleType, unsigned int flags)
{
    RT_CALL(
        RT_DRIVER, cudaMemPoolExportToShareableHandle,
        DRV(cuMemPoolExportToShareableHandle)(shareableHandle, memPool, (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                                 enum cudaMemAllocationHandleType handleType, unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaMemPoolImportFromShareableHandle,
            DRV(cuMemPoolImportFromShareableHandle)(memPool, shareableHandle, (CUmemAllocationHandleType)handleType,
                                                    flags));
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
    RT_CALL(RT_DRIVER, cudaMemPoolExportPointer,
            DRV(cuMemPoolExportPointer)((CUmemPoolPtrExportData *)exportData, (CUdeviceptr)ptr));
}

cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool, struct cudaMemPoolPtrExportData *exportData)
{
    RT_CALL(RT_DRIVER, cudaMemPoolImportPointer,
            DRV(cuMemPoolImportPointer)((CUdeviceptr *)ptr, memPool, (CUmemPoolPtrExportData *)exportData));
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGraphMemTrim, DRV(cuDeviceGraphMemTrim)(device));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetGraphMemAttribute,
            DRV(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    RT_CALL(RT_DRIVER, cudaDeviceSetGraphMemAttribute,
            DRV(cuDeviceSetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}
