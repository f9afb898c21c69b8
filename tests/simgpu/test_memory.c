// Memory of every kind, copies of every shape, pools, what is known of an address.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/test_support.h"

static CUstream stream;

static int start(void **state)
{
    (void)state;
    support_start("devices 2\nmemory 64M\nlink 0 1 7");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static void fill_host(unsigned char *host, size_t size)
{
    for (size_t i = 0; i < size; i++)
        host[i] = (unsigned char)(i * 31 + i / 251);
}

static size_t free_bytes(void)
{
    size_t free_now, total;
    OK(cuMemGetInfo(&free_now, &total));
    assert_int_equal(total, 64 << 20);
    return free_now;
}

static void copies_there_and_back(void **state)
{
    (void)state;
    // Below and above what is staged, and what effects do at once.
    static const size_t sizes[] = {1, 4096, 65536, 65537, 3000001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *from = malloc(sizes[i]), *to = calloc(1, sizes[i]);
        CUdeviceptr a, b;
        fill_host(from, sizes[i]);
        OK(cuMemAlloc(&a, sizes[i]));
        OK(cuMemAlloc(&b, sizes[i]));
        OK(cuMemcpyHtoDAsync(a, from, sizes[i], stream));
        memset(from, 0, sizes[i]); // pageable memory may be reused at once
        OK(cuMemcpyDtoDAsync(b, a, sizes[i], stream));
        OK(cuMemcpyDtoHAsync(to, b, sizes[i], stream)); // returns with the data
        fill_host(from, sizes[i]);
        assert_memory_equal(from, to, sizes[i]);
        OK(cuMemFree(a));
        OK(cuMemFree(b));
        free(from);
        free(to);
    }
}

static void pinned_copies_are_asynchronous(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    unsigned char *host;
    CUdeviceptr device;
    unsigned flags;
    OK(cuMemHostAlloc((void **)&host, SIZE, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostGetFlags(&flags, host));
    assert_true(flags & CU_MEMHOSTALLOC_PORTABLE);
    OK(cuMemAlloc(&device, SIZE));
    support_close_gate(stream);
    OK(cuMemcpyHtoDAsync(device, host, SIZE, stream));
    assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    support_open_gate();
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(host));
    assert_int_equal(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
}

static void registered_memory_is_pinned(void **state)
{
    (void)state;
    char *host = malloc(1 << 16);
    unsigned type;
    assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host),
                     CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister(host, 1 << 16, 0));
    assert_int_equal(cuMemHostRegister(host + 4096, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host + 17));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    OK(cuMemHostUnregister(host));
    assert_int_equal(cuMemHostUnregister(host), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    free(host);
}

static void account_and_limits(void **state)
{
    (void)state;
    CUdeviceptr memory, too_much;
    const size_t before = free_bytes();
    OK(cuMemAlloc(&memory, 10 << 20));
    assert_int_equal(before - free_bytes(), 10 << 20);
    assert_int_equal(cuMemAlloc(&too_much, 60 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree(memory));
    assert_int_equal(free_bytes(), before);
    assert_int_equal(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(0));
    assert_int_equal(cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    CUdeviceptr memory, base;
    size_t size;
    char host[64];
    OK(cuMemAlloc(&memory, 1000));
    OK(cuMemGetAddressRange(&base, &size, memory + 999));
    assert_int_equal(base, memory);
    assert_int_equal(size, 1000);
    assert_int_equal(cuMemcpyDtoH(host, memory + 990, 11), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyHtoD((CUdeviceptr)host, host, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(memory, 0, 1001), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
    assert_int_equal(cuMemcpyDtoH(host, memory, 1), CUDA_ERROR_INVALID_VALUE);
}

static void boxes_are_copied(void **state)
{
    (void)state;
    enum { WIDTH = 24, HEIGHT = 5, DEPTH = 3 };
    unsigned char from[WIDTH * HEIGHT * DEPTH], to[WIDTH * HEIGHT * DEPTH] = {0};
    CUdeviceptr memory;
    size_t pitch;
    fill_host(from, sizeof from);
    OK(cuMemAllocPitch(&memory, &pitch, WIDTH, HEIGHT * DEPTH, 4));
    assert_true(pitch >= WIDTH && pitch % 32 == 0);
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = from,
                         .srcPitch = WIDTH,
                         .srcHeight = HEIGHT,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = memory,
                         .dstPitch = pitch,
                         .dstHeight = HEIGHT,
                         .WidthInBytes = WIDTH,
                         .Height = HEIGHT,
                         .Depth = DEPTH};
    OK(cuMemcpy3D(&box));
    const CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = memory,
                                .srcPitch = pitch,
                                .srcXInBytes = 4,
                                .srcY = 1,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = to,
                                .dstPitch = WIDTH,
                                .WidthInBytes = WIDTH - 4,
                                .Height = HEIGHT * DEPTH - 1};
    OK(cuMemcpy2D(&back));
    for (int y = 0; y + 1 < HEIGHT * DEPTH; y++)
        assert_memory_equal(to + y * WIDTH, from + (y + 1) * WIDTH + 4, WIDTH - 4);
    box.WidthInBytes = pitch + 1;
    assert_int_equal(cuMemcpy3D(&box), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
}

static void arrays_hold_data(void **state)
{
    (void)state;
    enum { WIDTH = 16, HEIGHT = 4 };
    float from[HEIGHT][WIDTH], to[HEIGHT][WIDTH] = {{0}};
    CUarray array;
    const CUDA_ARRAY_DESCRIPTOR descriptor = {WIDTH, HEIGHT, CU_AD_FORMAT_FLOAT, 1};
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        from[i / WIDTH][i % WIDTH] = (float)i;
    OK(cuArrayCreate(&array, &descriptor));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = sizeof *from,
                          .Height = HEIGHT};
    OK(cuMemcpy2D(&copy));
    copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = array,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to,
                           .WidthInBytes = sizeof *from,
                           .Height = HEIGHT};
    OK(cuMemcpy2D(&copy));
    assert_memory_equal(from, to, sizeof from);
    OK(cuArrayDestroy(array));
    assert_int_equal(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

static void memsets_of_all_widths(void **state)
{
    (void)state;
    uint32_t words[8];
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, sizeof words));
    OK(cuMemsetD32(memory, 0x01020304, 8));
    OK(cuMemsetD16(memory + 4, 0x0506, 2));
    OK(cuMemsetD8(memory + 8, 7, 4));
    OK(cuMemsetD2D8(memory + 12, 8, 9, 1, 2));
    OK(cuMemcpyDtoH(words, memory, sizeof words));
    assert_int_equal(words[0], 0x01020304);
    assert_int_equal(words[1], 0x05060506);
    assert_int_equal(words[2], 0x07070707);
    assert_int_equal(words[3], 0x01020309);
    assert_int_equal(words[4], 0x01020304);
    assert_int_equal(words[5], 0x01020309);
    OK(cuMemFree(memory));
}

static void managed_memory_is_seen_by_both(void **state)
{
    (void)state;
    CUdeviceptr memory;
    unsigned managed;
    OK(cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemsetD8(memory, 5, 4096));
    OK(cuCtxSynchronize());
    assert_int_equal(((unsigned char *)memory)[4095], 5);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    assert_int_equal(managed, 1);
    const CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    OK(cuMemPrefetchAsync_v2(memory, 4096, device, 0, stream));
    OK(cuMemAdvise_v2(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemFree(memory));
}

static void peer_copies_use_the_link(void **state)
{
    (void)state;
    enum { SIZE = 70000 };
    CUcontext here, there;
    CUdeviceptr from, to;
    unsigned char *host = malloc(SIZE), *back = malloc(SIZE);
    fill_host(host, SIZE);
    OK(cuCtxGetCurrent(&here));
    OK(cuDevicePrimaryCtxRetain(&there, 1));
    OK(cuMemAlloc(&from, SIZE));
    OK(cuMemcpyHtoD(from, host, SIZE));
    OK(cuCtxPushCurrent(there));
    OK(cuMemAlloc(&to, SIZE));
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxEnablePeerAccess(there, 0));
    assert_int_equal(cuCtxEnablePeerAccess(there, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuMemcpyPeer(to, there, from, here, SIZE));
    OK(cuMemcpyDtoH(back, to, SIZE));
    assert_memory_equal(host, back, SIZE);
    const struct logged_op op = support_op("=p2p");
    assert_int_equal(op.end_ns - op.start_ns, 1500 + SIZE / 7);
    OK(cuMemFree(from));
    OK(cuMemFree(to));
    free(host);
    free(back);
}

static void pool_keeps_its_account(void **state)
{
    (void)state;
    CUmemoryPool pool;
    CUdeviceptr memory;
    cuuint64_t used, reserved, threshold = UINT64_MAX;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(cuMemAllocAsync(&memory, 1 << 20, stream));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 1 << 20);
    OK(cuMemsetD8Async(memory, 3, 1 << 20, stream));
    OK(cuMemFreeAsync(memory, stream));
    assert_int_equal(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(used, 0);
    assert_true(reserved >= 1 << 20);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(reserved, 0);

    CUmemoryPool own;
    const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    OK(cuMemPoolCreate(&own, &properties));
    OK(cuMemAllocFromPoolAsync(&memory, 512, own, stream));
    CUmemoryPool found;
    OK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    assert_ptr_equal(found, own);
    OK(cuMemFreeAsync(memory, stream));
    OK(cuMemPoolDestroy(own));
    assert_int_equal(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

static void virtual_memory_is_mapped(void **state)
{
    (void)state;
    size_t granule;
    CUdeviceptr space;
    CUmemGenericAllocationHandle physical;
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    unsigned char byte = 0;
    OK(cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&space, 2 * granule, 0, 0, 0));
    OK(cuMemCreate(&physical, granule, &properties, 0));
    assert_int_equal(cuMemCreate(&physical, granule + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(space + granule, granule, 0, physical, 0));
    OK(cuMemSetAccess(space + granule, granule, &access, 1));
    OK(cuMemRelease(physical));
    OK(cuMemsetD8(space + granule, 77, granule));
    OK(cuMemcpyDtoH(&byte, space + 2 * granule - 1, 1));
    assert_int_equal(byte, 77);
    assert_int_equal(cuMemFree(space + granule), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(space, 2 * granule), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(space + granule, granule));
    OK(cuMemAddressFree(space, 2 * granule));
    assert_int_equal(cuMemcpyDtoH(&byte, space + granule, 1), CUDA_ERROR_INVALID_VALUE);
}

static void freeing_waits_for_the_device(void **state)
{
    (void)state;
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 4096));
    support_spin("user", 1, 5000000, stream);
    OK(cuMemFree(memory));
    OK(cuStreamQuery(stream));
    assert_true(support_call("cuMemFree_v2").end_ns >= support_op("user_spin_ns").end_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_there_and_back),
        cmocka_unit_test(pinned_copies_are_asynchronous),
        cmocka_unit_test(registered_memory_is_pinned),
        cmocka_unit_test(account_and_limits),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(boxes_are_copied),
        cmocka_unit_test(arrays_hold_data),
        cmocka_unit_test(memsets_of_all_widths),
        cmocka_unit_test(managed_memory_is_seen_by_both),
        cmocka_unit_test(peer_copies_use_the_link),
        cmocka_unit_test(pool_keeps_its_account),
        cmocka_unit_test(virtual_memory_is_mapped),
        cmocka_unit_test(freeing_waits_for_the_device),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
