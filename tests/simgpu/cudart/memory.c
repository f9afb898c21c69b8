/* Memory: device, pinned, managed. */
#include "runtime.h"

static cudaError_t allocate(void **pointer, size_t size_bytes)
{
    CUdeviceptr address = 0;
    if (!pointer)
        return cudaErrorInvalidValue;
    CUresult result = size_bytes ? DRV(cuMemAlloc)(&address, size_bytes) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *pointer = rt_pointer(address);
    return (cudaError_t)result;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    RT_CALL(RT_CONTEXT, cudaMalloc, allocate(devPtr, size));
}

cudaError_t cudaFree(void *devPtr)
{
    RT_CALL(RT_CONTEXT, cudaFree, devPtr ? DRV(cuMemFree)((CUdeviceptr)devPtr) : CUDA_SUCCESS);
}

/* The element size with which rows get aligned for any access. */
#define PITCH_ELEMENT_BYTES 16

static cudaError_t allocate_pitched(void **pointer, size_t *pitch, size_t width_bytes, size_t height)
{
    CUdeviceptr address = 0;
    if (!pointer || !pitch)
        return cudaErrorInvalidValue;
    if (!width_bytes || !height) {
        *pointer = NULL;
        *pitch = 0;
        return cudaSuccess;
    }
    CUresult result = DRV(cuMemAllocPitch)(&address, pitch, width_bytes, height, PITCH_ELEMENT_BYTES);
    if (result == CUDA_SUCCESS)
        *pointer = rt_pointer(address);
    return (cudaError_t)result;
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    RT_CALL(RT_CONTEXT, cudaMallocPitch, allocate_pitched(devPtr, pitch, width, height));
}

static cudaError_t allocate_3d(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    void *pointer = NULL;
    size_t pitch = 0;
    cudaError_t result = allocate_pitched(&pointer, &pitch, extent.width, extent.height * extent.depth);
    if (result == cudaSuccess)
        *pitched =
            (struct cudaPitchedPtr){.ptr = pointer, .pitch = pitch, .xsize = extent.width, .ysize = extent.height};
    return result;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    RT_CALL(RT_CONTEXT, cudaMalloc3D, RT_REQUIRE(pitchedDevPtr, allocate_3d(pitchedDevPtr, extent)));
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaMallocManaged,
            RT_REQUIRE(devPtr, DRV(cuMemAllocManaged)((CUdeviceptr *)devPtr, size, flags)));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    RT_CALL(RT_CONTEXT, cudaMemGetInfo, RT_REQUIRE(free && total, DRV(cuMemGetInfo)(free, total)));
}

static CUresult allocate_host(void **pointer, size_t size_bytes, unsigned flags)
{
    if (!size_bytes) {
        *pointer = NULL;
        return CUDA_SUCCESS;
    }
    return DRV(cuMemHostAlloc)(pointer, size_bytes, flags);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    RT_CALL(RT_CONTEXT, cudaMallocHost, RT_REQUIRE(ptr, allocate_host(ptr, size, CU_MEMHOSTALLOC_PORTABLE)));
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaHostAlloc, RT_REQUIRE(pHost, allocate_host(pHost, size, flags)));
}

cudaError_t cudaFreeHost(void *ptr)
{
    RT_CALL(RT_CONTEXT, cudaFreeHost, ptr ? DRV(cuMemFreeHost)(ptr) : CUDA_SUCCESS);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaHostRegister, DRV(cuMemHostRegister)(ptr, size, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
    RT_CALL(RT_CONTEXT, cudaHostUnregister, DRV(cuMemHostUnregister)(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaHostGetDevicePointer,
            RT_REQUIRE(pDevice, DRV(cuMemHostGetDevicePointer)((CUdeviceptr *)pDevice, pHost, flags)));
}

cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    RT_CALL(RT_CONTEXT, cudaHostGetFlags, RT_REQUIRE(pFlags, DRV(cuMemHostGetFlags)(pFlags, pHost)));
}

static CUresult pointer_attributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    unsigned memory_type = 0;
    unsigned is_managed = 0;
    int device = cudaInvalidDeviceId;
    CUdeviceptr device_pointer = 0;
    void *host_pointer = NULL;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&memory_type, &is_managed, &device, &device_pointer, &host_pointer};
    CUresult result = DRV(cuPointerGetAttributes)(sizeof names / sizeof names[0], names, values, (CUdeviceptr)pointer);
    if (result != CUDA_SUCCESS)
        return result;

    attributes->device = device;
    attributes->devicePointer = rt_pointer(device_pointer);
    attributes->hostPointer = host_pointer;
    if (is_managed)
        attributes->type = cudaMemoryTypeManaged;
    else if (memory_type == CU_MEMORYTYPE_DEVICE)
        attributes->type = cudaMemoryTypeDevice;
    else if (memory_type == CU_MEMORYTYPE_HOST)
        attributes->type = cudaMemoryTypeHost;
    else {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = cudaInvalidDeviceId;
        attributes->devicePointer = NULL;
        attributes->hostPointer = (void *)pointer;
    }
    return CUDA_SUCCESS;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    RT_CALL(RT_CONTEXT, cudaPointerGetAttributes, RT_REQUIRE(attributes, pointer_attributes(attributes, ptr)));
}

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize, enum cudaMemRangeAttribute attribute,
                                     const void *devPtr, size_t count)
{
    RT_CALL(RT_CONTEXT, cudaMemRangeGetAttribute,
            DRV(cuMemRangeGetAttribute)(data, dataSize, (CUmem_range_attribute)attribute, (CUdeviceptr)devPtr, count));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
                                      size_t numAttributes, const void *devPtr, size_t count)
{
    RT_CALL(RT_CONTEXT, cudaMemRangeGetAttributes,
            DRV(cuMemRangeGetAttributes)(data, dataSizes, (CUmem_range_attribute *)attributes, numAttributes,
                                         (CUdeviceptr)devPtr, count));
}

/* Advice takes a device number in 12's first form, a location in its second and in 13. */
static CUmemLocation location_of(struct cudaMemLocation location)
{
    return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

cudaError_t rt_mem_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) RT_SYMBOL(RT_NAME_V2("cudaMemAdvise"));

cudaError_t rt_mem_advise(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    RT_CALL_NAMED(RT_CONTEXT, RT_NAME_V2("cudaMemAdvise"),
                  DRV(cuMemAdvise)((CUdeviceptr)pointer, count, (CUmem_advise)advice, location_of(location)));
}

#if RT_MAJOR == 12
cudaError_t rt_mem_advise_v1(const void *pointer, size_t count, enum cudaMemoryAdvise advice, int device)
    RT_SYMBOL("cudaMemAdvise");

cudaError_t rt_mem_advise_v1(const void *pointer, size_t count, enum cudaMemoryAdvise advice, int device)
{
    CUmemLocation location = {.type =
                                  device == cudaCpuDeviceId ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                              .id = device == cudaCpuDeviceId ? 0 : device};
    RT_CALL_NAMED(RT_CONTEXT, "cudaMemAdvise",
                  DRV(cuMemAdvise)((CUdeviceptr)pointer, count, (CUmem_advise)advice, location));
}
#endif
