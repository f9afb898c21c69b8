// Device, host and managed memory; what is known of an address.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/pool.h"
#include "tests/simgpu/driver/ranges.h"

#define PITCH_BYTES 512u
#define PAGE_BYTES 4096u

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

static CUresult allocate(CUdeviceptr *ret_address, size_t size)
{
    struct range *range;
    if (!ret_address || !size)
        return CUDA_ERROR_INVALID_VALUE;
    spend_ns(CONFIG(malloc_ns));
    const CUresult result = device_memory_take(context_current()->device, size, &range);
    if (!result)
        *ret_address = range->base;
    return result;
}

static CUresult allocate_pitch(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width, size_t height,
                               unsigned element_bytes)
{
    if (!ret_pitch || !width || !height || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    const size_t pitch = round_up(width, PITCH_BYTES);
    const CUresult result = allocate(ret_address, pitch * height);
    if (!result)
        *ret_pitch = pitch;
    return result;
}

static void unmap(void *base, size_t size)
{
    munmap(base, size);
}

// Freeing waits for the device: what runs may use the memory.
static CUresult release(CUdeviceptr address)
{
    if (!address)
        return CUDA_SUCCESS;
    struct range *range = range_find((void *)address);
    if (!range || range->base != address || (range->kind != RANGE_DEVICE && range->kind != RANGE_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    device_wait(range->device);
    spend_ns(CONFIG(free_ns));
    // The lock was released: another thread may have freed it.
    range = range_find((void *)address);
    if (!range || range->base != address)
        return CUDA_ERROR_INVALID_VALUE;
    if (range->graph)
        return CUDA_SUCCESS; // the memory stays its graph's, for the next launch
    if (range->kind == RANGE_MANAGED) {
        const struct effect effect = {
            .type = EFFECT_CALL, .to = (char *)range->base, .width_bytes = range->size, .call = unmap};
        effect_start(&effect);
        range->device->used_bytes -= range->size;
        range_remove(range);
        return CUDA_SUCCESS;
    }
    if (range->pool)
        pool_give(range->pool, range->size);
    device_memory_give(range);
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), allocate(dptr, bytesize))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemAllocPitch_v2,
      (CUdeviceptr * dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned ElementSizeBytes),
      allocate_pitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemFree_v2, (CUdeviceptr dptr), release(dptr))

static CUresult memory_info(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    const struct device *device = context_current()->device;
    *free_bytes = device->memory_bytes - device->used_bytes;
    *total_bytes = device->memory_bytes;
    return CUDA_SUCCESS;
}

static CUresult address_range(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    const struct range *range = range_find((void *)address);
    if (!range)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->base;
    if (size)
        *size = range->size;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuMemGetInfo_v2, (size_t * free, size_t *total), memory_info(free, total))
ENTRY(NEED_CONTEXT, cuMemGetAddressRange_v2, (CUdeviceptr * pbase, size_t *psize, CUdeviceptr dptr),
      address_range(pbase, psize, dptr))

static CUresult map_range(size_t size, enum range_kind kind, unsigned flags, struct range **ret_range)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct range *range = mapped == MAP_FAILED ? NULL : range_add((uintptr_t)mapped, size, kind);
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->device = context_current()->device;
    range->context = context_current();
    range->flags = flags;
    *ret_range = range;
    return CUDA_SUCCESS;
}

static void spend_pinning(size_t size)
{
    spend_ns(CONFIG(hostalloc_ns_per_mb) * (double)round_up(size, 1u << 20) / (1u << 20));
}

static CUresult host_allocate(void **ret_pointer, size_t size, unsigned flags)
{
    struct range *range;
    if (!ret_pointer || !size ||
        (flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)))
        return CUDA_ERROR_INVALID_VALUE;
    spend_pinning(size);
    const CUresult result = map_range(size, RANGE_HOST, flags, &range);
    if (!result)
        *ret_pointer = (void *)range->base;
    return result;
}

static CUresult host_free(void *pointer)
{
    if (!pointer)
        return CUDA_SUCCESS;
    struct range *range = range_find(pointer);
    if (!range || range->base != (uintptr_t)pointer || range->kind != RANGE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct CUctx_st *context = context_next(NULL); context; context = context_next(context))
        context_wait(context);
    spend_ns(CONFIG(free_ns));
    range = range_find(pointer);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    munmap(pointer, range->size);
    range_remove(range);
    return CUDA_SUCCESS;
}

static CUresult host_register(void *pointer, size_t size, unsigned flags)
{
    if (!pointer || !size || (flags & ~15u))
        return CUDA_ERROR_INVALID_VALUE;
    spend_pinning(size);
    struct range *range = range_add((uintptr_t)pointer, size, RANGE_REGISTERED);
    if (!range)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    range->device = context_current()->device;
    range->context = context_current();
    range->flags = flags;
    return CUDA_SUCCESS;
}

static CUresult host_unregister(void *pointer)
{
    struct range *range = range_find(pointer);
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range || range->base != (uintptr_t)pointer || range->kind != RANGE_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    spend_ns(CONFIG(free_ns));
    range_remove(range);
    return CUDA_SUCCESS;
}

static bool is_host(const struct range *range)
{
    return range && (range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED);
}

static CUresult host_device_pointer(CUdeviceptr *ret_address, void *pointer, unsigned flags)
{
    if (!ret_address || flags || !is_host(range_find(pointer)))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_address = (CUdeviceptr)pointer;
    return CUDA_SUCCESS;
}

static CUresult host_flags(unsigned *ret_flags, void *pointer)
{
    const struct range *range = range_find(pointer);
    if (!ret_flags || !is_host(range))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuMemHostAlloc, (void **pp, size_t bytesize, unsigned Flags),
      host_allocate(pp, bytesize, Flags))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemAllocHost_v2, (void **pp, size_t bytesize), host_allocate(pp, bytesize, 0))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemFreeHost, (void *p), host_free(p))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned Flags),
      host_register(p, bytesize, Flags))
ENTRY(NEED_CONTEXT | UNSAFE, cuMemHostUnregister, (void *p), host_unregister(p))
ENTRY(NEED_CONTEXT, cuMemHostGetDevicePointer_v2, (CUdeviceptr * pdptr, void *p, unsigned Flags),
      host_device_pointer(pdptr, p, Flags))
ENTRY(NEED_CONTEXT, cuMemHostGetFlags, (unsigned *pFlags, void *p), host_flags(pFlags, p))

static CUresult managed_allocate(CUdeviceptr *ret_address, size_t size, unsigned flags)
{
    struct range *range;
    if (!ret_address || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    spend_ns(CONFIG(malloc_ns));
    struct device *device = context_current()->device;
    if (size > device->memory_bytes - device->used_bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = map_range(round_up(size, PAGE_BYTES), RANGE_MANAGED, flags, &range);
    if (result)
        return result;
    device->used_bytes += range->size;
    *ret_address = range->base;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned flags),
      managed_allocate(dptr, bytesize, flags))

// Prefetches and advice change nothing that could be seen: managed memory is where it is.
static CUresult check_managed(CUdeviceptr address, size_t size, CUstream handle, CUstream otherwise)
{
    const struct range *range = range_find((void *)address);
    struct CUstream_st *stream;
    if (!size || !range || range->kind != RANGE_MANAGED || size > range->base + range->size - address)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = stream_get(handle, otherwise, &stream);
    if (result)
        return result;
    const struct work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return stream->capture ? CUDA_SUCCESS : work_enqueue(&work, stream);
}

ENTRY_STREAM(NEED_CONTEXT, cuMemPrefetchAsync, _ptsz,
             (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream),
             dstDevice < CU_DEVICE_CPU || dstDevice >= (int)CONFIG(devices)
                 ? CUDA_ERROR_INVALID_DEVICE
                 : check_managed(devPtr, count, hStream, default_stream))
ENTRY_STREAM(NEED_CONTEXT, cuMemPrefetchAsync_v2, _ptsz,
             (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned flags, CUstream hStream),
             flags || location.type == CU_MEM_LOCATION_TYPE_INVALID
                 ? CUDA_ERROR_INVALID_VALUE
                 : check_managed(devPtr, count, hStream, default_stream))

static CUresult advise(CUdeviceptr address, size_t size, CUmem_advise advice)
{
    const struct range *range = range_find((void *)address);
    const bool known = advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    return known && size && range && range->kind == RANGE_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ENTRY(NEED_CONTEXT, cuMemAdvise, (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device),
      ((void)device, advise(devPtr, count, advice)))
ENTRY(NEED_CONTEXT, cuMemAdvise_v2, (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location),
      ((void)location, advise(devPtr, count, advice)))
