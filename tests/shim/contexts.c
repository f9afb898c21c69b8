// Makes and ends contexts with work behind them: cuCtxCreate and cuCtxDestroy, and the primary context with
// cudaDeviceReset. Uses the driver and the runtime by dlopen, as frameworks do. Exit status 0 when every call
// succeeded.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t handle;

#define FIND(library, name) ((name##_fn *)dlsym(library, #name))
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int error = (call);                                                                                            \
        if (error != 0) {                                                                                              \
            fprintf(stderr, "%s: %d\n", #call, error);                                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

typedef int cuInit_fn(unsigned);
typedef int cuCtxCreate_v2_fn(handle *, unsigned, int);
typedef int cuCtxDestroy_v2_fn(handle);
typedef int cuMemAlloc_v2_fn(handle *, size_t);
typedef int cuMemsetD8Async_fn(handle, unsigned char, size_t, handle);
typedef int cuCtxSynchronize_fn(void);
typedef int cudaMalloc_fn(void **, size_t);
typedef int cudaMemset_fn(void *, int, size_t);
typedef int cudaDeviceReset_fn(void);
typedef int cudaDeviceSynchronize_fn(void);

int main(void)
{
    const unsigned rounds = 40, operations = 5; // more rounds than the tool keeps contexts
    const size_t size = 1 << 16;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!driver || !runtime) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CHECK(FIND(driver, cuInit)(0));
    for (unsigned round = 0; round < rounds; round++) {
        handle context, memory;

        CHECK(FIND(driver, cuCtxCreate_v2)(&context, 0, 0));
        CHECK(FIND(driver, cuMemAlloc_v2)(&memory, size));
        for (unsigned i = 0; i < operations; i++)
            CHECK(FIND(driver, cuMemsetD8Async)(memory, 1, size, 0));
        CHECK(FIND(driver, cuCtxSynchronize)());
        CHECK(FIND(driver, cuCtxDestroy_v2)(context));
    }
    for (unsigned round = 0; round < rounds; round++) {
        void *memory;

        CHECK(FIND(runtime, cudaMalloc)(&memory, size));
        for (unsigned i = 0; i < operations; i++)
            CHECK(FIND(runtime, cudaMemset)(memory, 1, size));
        CHECK(FIND(runtime, cudaDeviceSynchronize)());
        CHECK(FIND(runtime, cudaDeviceReset)());
    }
    return 0;
}
