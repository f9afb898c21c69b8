// Preloaded by a program of its own accord: counts allocations, as memory profilers do.
#include <dlfcn.h>
#include <stdio.h>

__attribute__((visibility("default"))) int cudaMalloc(void **memory, size_t bytes);
int cudaMalloc(void **memory, size_t bytes)
{
    static int count;
    int (*next)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_NEXT, "cudaMalloc");

    printf("interposed allocation %d\n", ++count);
    return next ? next(memory, bytes) : -1;
}
