// What is known of an address: pointer and range attributes.
#include <string.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/pool.h"
#include "tests/simgpu/driver/ranges.h"

#define PUT(type, expression) (*(type *)data = (type)(expression), CUDA_SUCCESS)

static CUresult get_known(void *data, CUpointer_attribute attribute, CUdeviceptr address, const struct range *range)
{
    const bool is_host = range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return PUT(CUcontext, range->context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return PUT(unsigned, is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return PUT(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return is_host || range->kind == RANGE_MANAGED ? PUT(CUdeviceptr, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return PUT(unsigned, range->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return PUT(unsigned long long, range->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return PUT(unsigned, range->kind == RANGE_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return PUT(int, range->device->index);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return PUT(unsigned, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return PUT(CUdeviceptr, range->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return PUT(size_t, range->size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return PUT(CUdeviceptr, range->base);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return PUT(unsigned, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return PUT(unsigned long long, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return PUT(unsigned, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return PUT(CUmemoryPool, range->pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return PUT(unsigned long long, range->id);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult get(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const struct range *range = range_find((void *)address);
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    return range ? get_known(data, attribute, address, range) : CUDA_ERROR_INVALID_VALUE;
}

// As documented: unknown addresses and attributes give zeros and no error.
static CUresult get_several(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
{
    if (!count || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    const struct range *range = range_find((void *)address);
    for (unsigned i = 0; i < count; i++) {
        const bool is_int =
            attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || attributes[i] == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
            attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED || attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ||
            attributes[i] == CU_POINTER_ATTRIBUTE_MAPPED || attributes[i] == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
        if (range && get_known(data[i], attributes[i], address, range) == CUDA_SUCCESS)
            continue;
        memset(data[i], 0, is_int ? sizeof(int) : sizeof(void *));
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = CU_DEVICE_INVALID;
    }
    return CUDA_SUCCESS;
}

static CUresult set(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct range *range = range_find((void *)address);
    if (!value || !range || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    range->sync_memops = *(const unsigned *)value != 0;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
      get(data, attribute, ptr))
ENTRY(NEED_CONTEXT, cuPointerGetAttributes,
      (unsigned numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr),
      get_several(numAttributes, attributes, data, ptr))
ENTRY(NEED_CONTEXT, cuPointerSetAttribute, (const void *value, CUpointer_attribute attribute, CUdeviceptr ptr),
      set(value, attribute, ptr))

// Managed memory has no preferred location, and was last prefetched nowhere.
static CUresult range_attribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t count)
{
    const struct range *range = range_find((void *)address);
    if (!data || size < sizeof(int) || !count || !range || range->kind != RANGE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        return PUT(int, 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        return PUT(int, CU_DEVICE_INVALID);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        for (size_t i = 0; i < size / sizeof(int); i++)
            ((int *)data)[i] = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult range_attributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t attribute_count,
                                 CUdeviceptr address, size_t count)
{
    if (!data || !sizes || !attributes || !attribute_count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < attribute_count; i++) {
        const CUresult result = range_attribute(data[i], sizes[i], attributes[i], address, count);
        if (result)
            return result;
    }
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuMemRangeGetAttribute,
      (void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr, size_t count),
      range_attribute(data, dataSize, attribute, devPtr, count))
ENTRY(NEED_CONTEXT, cuMemRangeGetAttributes,
      (void **data, size_t *dataSizes, CUmem_range_attribute *attributes, size_t numAttributes, CUdeviceptr devPtr,
       size_t count),
      range_attributes(data, dataSizes, attributes, numAttributes, devPtr, count))
