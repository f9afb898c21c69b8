// Built as a libcudart of its own: a runtime whose only function waits, when told to, before it calls the driver.
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) int cudaMalloc(void **memory, size_t bytes);
__attribute__((visibility("default"))) void (*gated_runtime_wait)(void);

int cudaMalloc(void **memory, size_t bytes)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*allocate)(void **, size_t) = driver ? (int (*)(void **, size_t))dlsym(driver, "cuMemAlloc_v2") : NULL;

    if (gated_runtime_wait)
        gated_runtime_wait();
    return allocate ? allocate(memory, bytes) : 1;
}
