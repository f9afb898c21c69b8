// Stream-ordered allocation. Memory itself comes and goes as with cuMemAlloc; a pool keeps the account of what it would
// hold in reserve.
#include "tests/simgpu/driver/pool.h"

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/ranges.h"

#define RESERVE_STEP ((uint64_t)32 << 20)

static struct CUmemPoolHandle_st *default_pools[SIMGPU_MAX_DEVICES], *current_pools[SIMGPU_MAX_DEVICES];

static struct CUmemPoolHandle_st *pool_new(struct device *device)
{
    struct CUmemPoolHandle_st *pool = object_new(MAGIC_POOL, sizeof *pool);
    pool->device = device;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    return pool;
}

static struct CUmemPoolHandle_st *pool_default(struct device *device)
{
    struct CUmemPoolHandle_st **pool = &default_pools[device->index];
    if (!*pool) {
        *pool = pool_new(device);
        (*pool)->is_default = true;
    }
    return *pool;
}

struct CUmemPoolHandle_st *pool_current(struct device *device)
{
    struct CUmemPoolHandle_st *pool = current_pools[device->index];
    return IS(pool, MAGIC_POOL) ? pool : pool_default(device);
}

static void pool_take(struct CUmemPoolHandle_st *pool, size_t size)
{
    pool->used_bytes += size;
    if (pool->used_bytes > pool->used_high)
        pool->used_high = pool->used_bytes;
    if (pool->used_bytes > pool->reserved_bytes) {
        pool->reserved_bytes = (pool->used_bytes + RESERVE_STEP - 1) / RESERVE_STEP * RESERVE_STEP;
        // Growing the reserve costs what an allocation costs; taking from it does not.
        spend_ns(CONFIG(malloc_ns));
    }
    if (pool->reserved_bytes > pool->reserved_high)
        pool->reserved_high = pool->reserved_bytes;
}

static void pool_trim(struct CUmemPoolHandle_st *pool, uint64_t keep_bytes)
{
    const uint64_t least = (pool->used_bytes + RESERVE_STEP - 1) / RESERVE_STEP * RESERVE_STEP;
    const uint64_t target = keep_bytes > least ? keep_bytes : least;
    if (pool->reserved_bytes > target)
        pool->reserved_bytes = target;
}

void pool_give(struct CUmemPoolHandle_st *pool, size_t size)
{
    pool->used_bytes -= size;
    pool_trim(pool, pool->release_threshold);
}

static CUresult allocate(CUdeviceptr *ret_address, size_t size, struct CUmemPoolHandle_st *pool, CUstream handle,
                         CUstream otherwise)
{
    struct CUstream_st *stream;
    struct range *range;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result || !ret_address || !size)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if (!pool)
        pool = pool_current(stream->context->device);
    if (!IS(pool, MAGIC_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) {
        struct work work = {
            .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            .alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)pool->device->index}},
                      .bytesize = size}};
        result = capture_add(stream, &work);
        if (!result)
            *ret_address = capture_last_alloc(stream);
        return result;
    }
    result = device_memory_take(pool->device, size, &range);
    if (result)
        return result;
    range->pool = pool;
    pool_take(pool, size);
    *ret_address = range->base;
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address, CUstream handle, CUstream otherwise)
{
    struct CUstream_st *stream;
    CUresult result = stream_get(handle, otherwise, &stream);
    if (result)
        return result;
    struct range *range = range_find((void *)address);
    if (!range || range->base != address || range->kind != RANGE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) {
        const struct work work = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .freed = address};
        return capture_add(stream, &work);
    }
    if (range->graph)
        return CUDA_SUCCESS; // the memory stays its graph's, for the next launch
    if (range->pool)
        pool_give(range->pool, range->size);
    device_memory_give(range);
    return CUDA_SUCCESS;
}

ENTRY_STREAM(NEED_CONTEXT, cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
             allocate(dptr, bytesize, NULL, hStream, default_stream))
ENTRY_STREAM(NEED_CONTEXT, cuMemAllocFromPoolAsync, _ptsz,
             (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
             !pool ? CUDA_ERROR_INVALID_VALUE : allocate(dptr, bytesize, pool, hStream, default_stream))
ENTRY_STREAM(NEED_CONTEXT, cuMemFreeAsync, _ptsz, (CUdeviceptr dptr, CUstream hStream),
             release(dptr, hStream, default_stream))

static CUresult create(CUmemoryPool *ret_pool, const CUmemPoolProps *properties)
{
    struct device *device;
    if (!ret_pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = context_device_index(properties->location.id, &device);
    if (!result)
        *ret_pool = pool_new(device);
    return result;
}

static CUresult destroy(CUmemoryPool pool)
{
    if (!IS(pool, MAGIC_POOL) || pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    // What is still allocated from it stays valid until freed; the account ends here.
    for (unsigned i = 0; i < SIMGPU_MAX_DEVICES; i++) {
        if (current_pools[i] == pool)
            current_pools[i] = NULL;
    }
    if (pool->used_bytes)
        pool->magic = 0;
    else
        object_free(pool, sizeof *pool);
    return CUDA_SUCCESS;
}

static CUresult device_pool(CUmemoryPool *ret_pool, CUdevice index, bool is_default)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_pool)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_pool = is_default ? pool_default(device) : pool_current(device);
    return CUDA_SUCCESS;
}

static CUresult set_device_pool(CUdevice index, CUmemoryPool pool)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !IS(pool, MAGIC_POOL) || pool->device != device)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    current_pools[index] = pool;
    return CUDA_SUCCESS;
}

static bool is_device_location(const CUmemLocation *location, CUmemAllocationType type)
{
    return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

static CUresult location_pool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type, bool is_default)
{
    return is_device_location(location, type) ? device_pool(pool, location->id, is_default) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult attribute(CUmemoryPool pool, CUmemPool_attribute which, void *value, bool set)
{
    if (!IS(pool, MAGIC_POOL) || !value)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t *account = NULL;
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
        int *flag = &pool->reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        *(set ? flag : (int *)value) = *(set ? (int *)value : flag);
        return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        account = &pool->release_threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        account = &pool->reserved_bytes;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        account = &pool->reserved_high;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        account = &pool->used_bytes;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        account = &pool->used_high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t *given = value;
    if (!set) {
        *given = *account;
        return CUDA_SUCCESS;
    }
    if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        *account = *given;
    else if (*given == 0 && which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        *account = pool->reserved_bytes;
    else if (*given == 0 && which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        *account = pool->used_bytes;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult trim(CUmemoryPool pool, size_t keep_bytes)
{
    if (!IS(pool, MAGIC_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    pool_trim(pool, keep_bytes);
    return CUDA_SUCCESS;
}

static CUresult set_access(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    if (!IS(pool, MAGIC_POOL) || (count && !access))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct device *device;
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        const CUresult result = context_device_index(access[i].location.id, &device);
        if (result)
            return result;
        const unsigned bit = 1u << device->index;
        const bool allow = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (device == pool->device && !allow)
            return CUDA_ERROR_INVALID_DEVICE;
        pool->access = allow ? pool->access | bit : pool->access & ~bit;
    }
    return CUDA_SUCCESS;
}

static CUresult get_access(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    struct device *device;
    if (!flags || !IS(pool, MAGIC_POOL) || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = context_device_index(location->id, &device);
    if (!result)
        *flags = device == pool->device || (pool->access & 1u << device->index) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                                : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return result;
}

ENTRY(NEED_INIT, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps), create(pool, poolProps))
ENTRY(NEED_INIT, cuMemPoolDestroy, (CUmemoryPool pool), destroy(pool))
ENTRY(NEED_INIT, cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), device_pool(pool_out, dev, true))
ENTRY(NEED_INIT, cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), device_pool(pool, dev, false))
ENTRY(NEED_INIT, cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), set_device_pool(dev, pool))
ENTRY(NEED_INIT, cuMemGetDefaultMemPool, (CUmemoryPool * pool_out, CUmemLocation *location, CUmemAllocationType type),
      location_pool(pool_out, location, type, true))
ENTRY(NEED_INIT, cuMemGetMemPool, (CUmemoryPool * pool, CUmemLocation *location, CUmemAllocationType type),
      location_pool(pool, location, type, false))
ENTRY(NEED_INIT, cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
      is_device_location(location, type) ? set_device_pool(location->id, pool) : CUDA_ERROR_NOT_SUPPORTED)
ENTRY(NEED_INIT, cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
      attribute(pool, attr, value, false))
ENTRY(NEED_INIT, cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
      attribute(pool, attr, value, true))
ENTRY(NEED_INIT, cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), trim(pool, minBytesToKeep))
ENTRY(NEED_INIT, cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count),
      set_access(pool, map, count))
ENTRY(NEED_INIT, cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool memPool, CUmemLocation *location),
      get_access(flags, memPool, location))
