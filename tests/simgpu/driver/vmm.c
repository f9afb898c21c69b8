// Virtual memory management: address space reserved, physical memory created, the one mapped into the other.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/ranges.h"

#define GRANULE ((size_t)2 << 20)

// Physical memory is a memory file, so that it can be mapped in several places.
struct physical {
    enum magic magic;
    int file;
    size_t size;
    struct device *device;
    CUmemAllocationProp properties;
    unsigned refs; // the handle and the mappings
};

struct mapping {
    CUdeviceptr address;
    size_t size;
    struct physical *physical;
    CUmemAccess_flags access;
    struct mapping *next;
};

struct reservation {
    CUdeviceptr address;
    size_t size;
    struct reservation *next;
};

static struct mapping *mappings;
static struct reservation *reservations;

static CUresult reserve(CUdeviceptr *ret_address, size_t size, size_t alignment, unsigned long long flags)
{
    if (!ret_address || !size || size % GRANULE || flags || (alignment & (alignment - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    void *space = address_space_take(size, alignment > GRANULE ? alignment : GRANULE);
    struct reservation *reservation = malloc(sizeof *reservation);
    if (!space || !reservation) {
        free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *reservation = (struct reservation){(CUdeviceptr)space, size, reservations};
    reservations = reservation;
    *ret_address = reservation->address;
    return CUDA_SUCCESS;
}

static bool is_mapped(CUdeviceptr address, size_t size)
{
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
        if (mapping->address < address + size && address < mapping->address + mapping->size)
            return true;
    }
    return false;
}

static CUresult release_addresses(CUdeviceptr address, size_t size)
{
    struct reservation **place = &reservations, *found;
    while (*place && (*place)->address != address)
        place = &(*place)->next;
    found = *place;
    if (!found || found->size != size || is_mapped(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    munmap((void *)address, size);
    *place = found->next;
    free(found);
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *ret_handle, size_t size, const CUmemAllocationProp *properties,
                       unsigned long long flags)
{
    struct device *device;
    if (!ret_handle || !size || size % GRANULE || !properties || flags ||
        properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->requestedHandleTypes || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = context_device_index(properties->location.id, &device);
    if (result)
        return result;
    spend_ns(CONFIG(malloc_ns));
    if (size > device->memory_bytes - device->used_bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const int file = memfd_create("simgpu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size) != 0) {
        if (file >= 0)
            close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct physical *physical = object_new(MAGIC_PHYSICAL, sizeof *physical);
    physical->file = file;
    physical->size = size;
    physical->device = device;
    physical->properties = *properties;
    physical->refs = 1;
    device->used_bytes += size;
    *ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

static struct physical *physical_get(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = (struct physical *)(uintptr_t)handle;
    return IS(physical, MAGIC_PHYSICAL) ? physical : NULL;
}

static void physical_unref(struct physical *physical)
{
    if (--physical->refs)
        return;
    close(physical->file);
    physical->device->used_bytes -= physical->size;
    object_free(physical, sizeof *physical);
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = physical_get(handle);
    if (!physical)
        return CUDA_ERROR_INVALID_VALUE;
    physical_unref(physical);
    return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags)
{
    struct physical *physical = physical_get(handle);
    const struct reservation *reservation = reservations;
    while (reservation && (address < reservation->address || address >= reservation->address + reservation->size))
        reservation = reservation->next;
    if (!physical || !reservation || flags || offset || !size || size > physical->size ||
        size > reservation->address + reservation->size - address || is_mapped(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    // Not accessible until cuMemSetAccess says so.
    if (mmap((void *)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct mapping *mapping = malloc(sizeof *mapping);
    struct range *range = range_add(address, size, RANGE_MAPPED);
    if (!mapping || !range)
        abort();
    range->device = physical->device;
    range->context = context_current();
    *mapping = (struct mapping){address, size, physical, CU_MEM_ACCESS_FLAGS_PROT_NONE, mappings};
    mappings = mapping;
    physical->refs++;
    return CUDA_SUCCESS;
}

static bool lies_in(const struct mapping *mapping, CUdeviceptr address, size_t size)
{
    return mapping->address >= address && mapping->address + mapping->size <= address + size;
}

static struct mapping *mapping_in(CUdeviceptr address, size_t size)
{
    struct mapping *mapping = mappings;
    while (mapping && !lies_in(mapping, address, size))
        mapping = mapping->next;
    return mapping;
}

// The range must be that of one mapping or of several adjacent ones, each whole.
static CUresult unmap(CUdeviceptr address, size_t size)
{
    size_t covered = 0;
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        covered += lies_in(mapping, address, size) ? mapping->size : 0;
    if (!size || covered != size)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct mapping *found; (found = mapping_in(address, size)) != NULL;) {
        device_wait(found->physical->device); // others may change the list meanwhile
        mmap((void *)found->address, found->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0);
        struct mapping **place = &mappings;
        while (*place != found)
            place = &(*place)->next;
        *place = found->next;
        range_remove(range_find((void *)found->address));
        physical_unref(found->physical);
        free(found);
    }
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
{
    bool found = false;
    if (!size || !access || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
        if (mapping->address < address || mapping->address + mapping->size > address + size)
            continue;
        found = true;
        for (size_t i = 0; i < count; i++)
            mapping->access |= access[i].flags;
        const int protection = mapping->access ? PROT_READ | PROT_WRITE : PROT_NONE;
        if (mprotect((void *)mapping->address, mapping->size, protection) != 0)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_access(unsigned long long *ret_flags, CUdeviceptr address)
{
    for (const struct mapping *mapping = mappings; ret_flags && mapping; mapping = mapping->next) {
        if (address >= mapping->address && address < mapping->address + mapping->size) {
            *ret_flags = mapping->access;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult granularity(size_t *ret_granularity, const CUmemAllocationProp *properties)
{
    if (!ret_granularity || !properties)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_granularity = GRANULE;
    return CUDA_SUCCESS;
}

static CUresult get_properties(CUmemAllocationProp *ret_properties, CUmemGenericAllocationHandle handle)
{
    const struct physical *physical = physical_get(handle);
    if (!ret_properties || !physical)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_properties = physical->properties;
    return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *ret_handle, const void *address)
{
    for (const struct mapping *mapping = mappings; ret_handle && mapping; mapping = mapping->next) {
        if ((CUdeviceptr)address >= mapping->address && (CUdeviceptr)address < mapping->address + mapping->size) {
            mapping->physical->refs++;
            *ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

ENTRY(NEED_INIT, cuMemAddressReserve,
      (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags),
      ((void)addr, reserve(ptr, size, alignment, flags)))
ENTRY(NEED_INIT, cuMemAddressFree, (CUdeviceptr ptr, size_t size), release_addresses(ptr, size))
ENTRY(NEED_INIT, cuMemCreate,
      (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags),
      create(handle, size, prop, flags))
ENTRY(NEED_INIT, cuMemRelease, (CUmemGenericAllocationHandle handle), release(handle))
ENTRY(NEED_INIT, cuMemMap,
      (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags),
      map(ptr, size, offset, handle, flags))
ENTRY(NEED_INIT, cuMemUnmap, (CUdeviceptr ptr, size_t size), unmap(ptr, size))
ENTRY(NEED_INIT, cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count),
      set_access(ptr, size, desc, count))
ENTRY(NEED_INIT, cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr),
      ((void)location, get_access(flags, ptr)))
ENTRY(NEED_INIT, cuMemGetAllocationGranularity,
      (size_t * ret_granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option),
      ((void)option, granularity(ret_granularity, prop)))
ENTRY(NEED_INIT, cuMemGetAllocationPropertiesFromHandle,
      (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle), get_properties(prop, handle))
ENTRY(NEED_INIT, cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *addr), retain(handle, addr))
