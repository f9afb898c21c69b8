/* What programs compiled against CUDA 12 rely on: libcudart.so.12's signatures and layouts, called through dlopen with
 * RTLD_LOCAL as frameworks do, side by side with libcudart.so.13. argv: the two libraries. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cuda_runtime_api.h>

#include "properties.h"

static void *library_12;
static void *library_13;

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail_msg("%s is missing", name);
    return symbol;
}

/* A function of a library by name and type. */
#define FN(library, name, ...) ((cudaError_t(*)(__VA_ARGS__))find(library, name))

static void *allocate(size_t size_bytes)
{
    void *pointer = NULL;
    assert_int_equal(FN(library_12, "cudaMalloc", void **, size_t)(&pointer, size_bytes), cudaSuccess);
    assert_non_null(pointer);
    return pointer;
}

static void release(void *pointer)
{
    assert_int_equal(FN(library_12, "cudaFree", void *)(pointer), cudaSuccess);
}

static void test_versions(void **state)
{
    (void)state;
    int version = 0;
    assert_int_equal(FN(library_12, "cudaRuntimeGetVersion", int *)(&version), cudaSuccess);
    assert_int_equal(version / 1000, 12);
    assert_int_equal(FN(library_13, "cudaRuntimeGetVersion", int *)(&version), cudaSuccess);
    assert_int_equal(version / 1000, 13);
}

static void test_symbol_versions(void **state)
{
    (void)state;
    assert_non_null(dlvsym(library_12, "cudaMalloc", "libcudart.so.12"));
    assert_non_null(dlvsym(library_13, "cudaMalloc", "libcudart.so.13"));
    assert_null(dlvsym(library_13, "cudaMalloc", "libcudart.so.12"));
    assert_null(dlsym(library_13, "cudaMemAdvise_v2"));
    assert_null(dlsym(library_12, "cudaLogsCurrent"));
}

static void test_properties(void **state)
{
    (void)state;
    struct rt_device_prop_12 full;
    struct rt_device_prop_13 thirteen;
    union {
        struct rt_device_prop_12 prop;
        unsigned char byte[sizeof(struct rt_device_prop_12)];
    } old;
    const size_t old_size = offsetof(struct rt_device_prop_12, hostRegisterSupported);

    assert_int_equal(FN(library_12, "cudaGetDeviceProperties_v2", struct rt_device_prop_12 *, int)(&full, 0),
                     cudaSuccess);
    assert_int_equal(FN(library_13, "cudaGetDeviceProperties", struct rt_device_prop_13 *, int)(&thirteen, 0),
                     cudaSuccess);
    memset(&old, 0xA5, sizeof old);
    assert_int_equal(FN(library_12, "cudaGetDeviceProperties", void *, int)(&old, 0), cudaSuccess);

    assert_int_equal(full.warpSize, 32);
    assert_true(full.clockRate > 0);
    assert_string_equal(full.name, thirteen.name);
    assert_int_equal(full.multiProcessorCount, thirteen.multiProcessorCount);
    assert_int_equal(full.unifiedFunctionPointers, thirteen.unifiedFunctionPointers);
    assert_memory_equal(&full, &old, old_size);
    for (size_t i = old_size; i < sizeof old; i++)
        assert_int_equal(old.byte[i], 0xA5); /* a program of CUDA 11 has nothing there */
    assert_int_equal(FN(library_12, "cudaGetDeviceProperties_v2", struct rt_device_prop_12 *, int)(&full, 99),
                     cudaErrorInvalidDevice);
}

static void test_managed_memory(void **state)
{
    (void)state;
    void *managed = NULL;
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice, .id = 0};

    assert_int_equal(FN(library_12, "cudaMallocManaged", void **, size_t, unsigned)(&managed, 4096, 1), cudaSuccess);
    assert_int_equal(
        FN(library_12, "cudaMemAdvise", const void *, size_t, enum cudaMemoryAdvise, int)(managed, 4096, 1, 0),
        cudaSuccess);
    assert_int_equal(FN(library_12, "cudaMemAdvise_v2", const void *, size_t, enum cudaMemoryAdvise,
                        struct cudaMemLocation)(managed, 4096, 1, location),
                     cudaSuccess);
    assert_int_equal(FN(library_13, "cudaMemAdvise", const void *, size_t, enum cudaMemoryAdvise,
                        struct cudaMemLocation)(managed, 4096, 1, location),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaMemPrefetchAsync", const void *, size_t, int,
                        cudaStream_t)(managed, 4096, cudaCpuDeviceId, NULL),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaMemPrefetchAsync_v2_ptsz", const void *, size_t, struct cudaMemLocation,
                        unsigned, cudaStream_t)(managed, 4096, location, 0, NULL),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaDeviceSynchronize", void)(), cudaSuccess);
    release(managed);
}

static void test_capture_info(void **state)
{
    (void)state;
    cudaStream_t stream;
    cudaGraph_t graph = NULL, found = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id_1 = 0, id_2 = 0, id_3 = 0;
    const cudaGraphNode_t *nodes = NULL;
    const cudaGraphEdgeData *edges = NULL;
    size_t count = 0;
    void *device = allocate(4096);

    assert_int_equal(FN(library_12, "cudaStreamCreate", cudaStream_t *)(&stream), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaStreamBeginCapture", cudaStream_t, int)(stream, 2), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaMemsetAsync", void *, int, size_t, cudaStream_t)(device, 1, 4096, stream),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaStreamGetCaptureInfo", cudaStream_t, enum cudaStreamCaptureStatus *,
                        unsigned long long *)(stream, &status, &id_1),
                     cudaSuccess);
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_int_equal(FN(library_12, "cudaStreamGetCaptureInfo_v2", cudaStream_t, enum cudaStreamCaptureStatus *,
                        unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **,
                        size_t *)(stream, &status, &id_2, &found, &nodes, &count),
                     cudaSuccess);
    assert_int_equal(count, 1);
    assert_int_equal(FN(library_13, "cudaStreamGetCaptureInfo", cudaStream_t, enum cudaStreamCaptureStatus *,
                        unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **, const cudaGraphEdgeData **,
                        size_t *)(stream, &status, &id_3, &graph, &nodes, &edges, &count),
                     cudaSuccess);
    assert_ptr_equal(graph, found);
    assert_int_equal(id_1, id_2);
    assert_int_equal(id_1, id_3);
    assert_int_equal(FN(library_12, "cudaStreamEndCapture", cudaStream_t, cudaGraph_t *)(stream, &graph), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGraphDestroy", cudaGraph_t)(graph), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaStreamDestroy", cudaStream_t)(stream), cudaSuccess);
    release(device);
}

static void test_graph_edges(void **state)
{
    (void)state;
    cudaGraph_t graph;
    cudaGraphNode_t a, b, from[2], to[2];
    size_t count = 2;

    assert_int_equal(FN(library_12, "cudaGraphCreate", cudaGraph_t *, unsigned)(&graph, 0), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGraphAddEmptyNode", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,
                        size_t)(&a, graph, NULL, 0),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGraphAddEmptyNode", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,
                        size_t)(&b, graph, NULL, 0),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGraphAddDependencies", cudaGraph_t, const cudaGraphNode_t *,
                        const cudaGraphNode_t *, size_t)(graph, &a, &b, 1),
                     cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGraphGetEdges", cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *,
                        size_t *)(graph, from, to, &count),
                     cudaSuccess);
    assert_int_equal(count, 1);
    assert_ptr_equal(from[0], a);
    assert_ptr_equal(to[0], b);
    assert_int_equal(FN(library_13, "cudaGraphRemoveDependencies", cudaGraph_t, const cudaGraphNode_t *,
                        const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t)(graph, &a, &b, NULL, 1),
                     cudaSuccess);
    assert_int_equal(
        FN(library_12, "cudaGraphNodeGetDependencies", cudaGraphNode_t, cudaGraphNode_t *, size_t *)(b, NULL, &count),
        cudaSuccess);
    assert_int_equal(count, 0);
    assert_int_equal(FN(library_12, "cudaGraphDestroy", cudaGraph_t)(graph), cudaSuccess);
}

static void test_pointer_attributes_stay_in_12s_structure(void **state)
{
    (void)state;
    struct {
        enum cudaMemoryType type;
        int device;
        void *device_pointer;
        void *host_pointer;
        uint64_t after;
    } attributes = {.after = 0x1122334455667788u};
    void *device = allocate(256);

    assert_int_equal(FN(library_12, "cudaPointerGetAttributes", void *, const void *)(&attributes, device),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_ptr_equal(attributes.device_pointer, device);
    assert_int_equal(attributes.after, 0x1122334455667788u);
    release(device);
}

static void test_each_library_remembers_its_own_error(void **state)
{
    (void)state;
    assert_int_equal(FN(library_12, "cudaMalloc", void **, size_t)(NULL, 16), cudaErrorInvalidValue);
    assert_int_equal(FN(library_13, "cudaGetLastError", void)(), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaGetLastError", void)(), cudaErrorInvalidValue);
    assert_int_equal(FN(library_12, "cudaGetLastError", void)(), cudaSuccess);
}

static void test_old_names(void **state)
{
    (void)state;
    size_t limit = 0;
    float ms = -1;
    cudaEvent_t begin, end;

    assert_int_equal(FN(library_12, "cudaThreadSynchronize", void)(), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaThreadGetLimit", size_t *, enum cudaLimit)(&limit, cudaLimitStackSize),
                     cudaSuccess);
    assert_true(limit > 0);
    assert_int_equal(FN(library_12, "cudaEventCreate", cudaEvent_t *)(&begin), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventCreate", cudaEvent_t *)(&end), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventRecord", cudaEvent_t, cudaStream_t)(begin, NULL), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventRecord", cudaEvent_t, cudaStream_t)(end, NULL), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventSynchronize", cudaEvent_t)(end), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventElapsedTime_v2", float *, cudaEvent_t, cudaEvent_t)(&ms, begin, end),
                     cudaSuccess);
    assert_true(ms >= 0);
    assert_int_equal(FN(library_12, "cudaEventDestroy", cudaEvent_t)(begin), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaEventDestroy", cudaEvent_t)(end), cudaSuccess);
}

static void test_not_simulated(void **state)
{
    (void)state;
    assert_int_equal(FN(library_12, "cudaVDPAUSetVDPAUDevice", int, void *, void *)(0, NULL, NULL),
                     cudaErrorNotSupported);
    assert_int_equal(FN(library_12, "cudaGetLastError", void)(), cudaErrorNotSupported);
    assert_int_equal(FN(library_12, "cudaGetExportTable", const void **, const void *)(NULL, NULL),
                     cudaErrorNotSupported);
    assert_int_equal(FN(library_12, "cudaGetLastError", void)(), cudaErrorNotSupported);
}

/* test_cudart.conf makes the second call fail. */
static void test_injected_fault(void **state)
{
    (void)state;
    void *pinned[3] = {NULL};
    assert_int_equal(FN(library_12, "cudaHostAlloc", void **, size_t, unsigned)(&pinned[0], 4096, 0), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaHostAlloc", void **, size_t, unsigned)(&pinned[1], 4096, 0),
                     cudaErrorMemoryAllocation);
    assert_null(pinned[1]);
    assert_int_equal(FN(library_12, "cudaGetLastError", void)(), cudaErrorMemoryAllocation);
    assert_int_equal(FN(library_12, "cudaHostAlloc", void **, size_t, unsigned)(&pinned[2], 4096, 0), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaFreeHost", void *)(pinned[0]), cudaSuccess);
    assert_int_equal(FN(library_12, "cudaFreeHost", void *)(pinned[2]), cudaSuccess);
}

/* The one error that programs meet on machines without a GPU has the name and text they look for. */
static void test_error_texts(void **state)
{
    (void)state;
    const char *(*name)(cudaError_t) = (const char *(*)(cudaError_t))find(library_13, "cudaGetErrorName");
    const char *(*text)(cudaError_t) = (const char *(*)(cudaError_t))find(library_13, "cudaGetErrorString");
    assert_string_equal(name(cudaErrorNoDevice), "cudaErrorNoDevice");
    assert_string_equal(text(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(name((cudaError_t)4242), text((cudaError_t)4242));
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    library_12 = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    library_13 = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!library_12 || !library_13) {
        print_error("%s\n", dlerror());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_symbol_versions),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_managed_memory),
        cmocka_unit_test(test_capture_info),
        cmocka_unit_test(test_graph_edges),
        cmocka_unit_test(test_pointer_attributes_stay_in_12s_structure),
        cmocka_unit_test(test_each_library_remembers_its_own_error),
        cmocka_unit_test(test_old_names),
        cmocka_unit_test(test_not_simulated),
        cmocka_unit_test(test_injected_fault),
        cmocka_unit_test(test_error_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
