// Host memory of copies: its kind, and a hash of its bytes.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/tracer/driver.h"
#include "shim/tracer/tracer.h"

#define SAMPLE_BLOCKS 16u
#define SAMPLE_BLOCK_BYTES 256u

enum gw_host_kind gw_host_kind_of(uint64_t pointer)
{
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8 }; // CUpointer_attribute
    enum { TYPE_HOST = 1 };                   // CUmemorytype
    const struct gw_driver *driver = gw_driver();
    unsigned type = 0, managed = 0;

    // While a stream captures, nothing is asked that the capture could mind.
    if (!driver || !driver->cuPointerGetAttribute || __atomic_load_n(&gw_tracer.captures, __ATOMIC_RELAXED) > 0)
        return GW_HOST_UNKNOWN;
    if (driver->cuPointerGetAttribute(&type, MEMORY_TYPE, pointer) != 0 || type == 0)
        return GW_HOST_PAGEABLE;
    if (driver->cuPointerGetAttribute(&managed, IS_MANAGED, pointer) == 0 && managed)
        return GW_HOST_MANAGED;
    return type == TYPE_HOST ? GW_HOST_PINNED : GW_HOST_NOT;
}

uint64_t gw_hash_bytes(const void *bytes, uint64_t size)
{
    const char *from = bytes;
    XXH3_state_t state;

    if (gw_tracer.hash == GW_HASH_OFF || size == 0)
        return 0;
    if (gw_tracer.hash == GW_HASH_FULL || size <= (uint64_t)SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES)
        return XXH3_64bits(bytes, size);
    XXH3_INITSTATE(&state);
    state.extSecret = NULL;
    XXH3_64bits_reset_withSeed(&state, size);
    for (uint64_t i = 0; i < SAMPLE_BLOCKS; i++)
        XXH3_64bits_update(&state, from + i * (size - SAMPLE_BLOCK_BYTES) / (SAMPLE_BLOCKS - 1), SAMPLE_BLOCK_BYTES);
    return XXH3_64bits_digest(&state);
}

uint64_t gw_hash_host(uint64_t pointer, uint64_t size, enum gw_host_kind kind)
{
    enum { WRITE_COMBINED = 4 };
    const struct gw_driver *driver = gw_driver();
    unsigned flags = 0;

    // Reading managed memory would move its pages; write-combined memory is read without a cache, very slowly.
    if (gw_tracer.hash == GW_HASH_OFF || (kind != GW_HOST_PAGEABLE && kind != GW_HOST_PINNED))
        return 0;
    if (kind == GW_HOST_PINNED && driver && driver->cuMemHostGetFlags &&
        driver->cuMemHostGetFlags(&flags, pointer) == 0 && flags & WRITE_COMBINED)
        return 0;
    return gw_hash_bytes((const void *)pointer, size);
}
