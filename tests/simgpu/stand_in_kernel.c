#include "tests/simgpu/stand_in_kernel.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/entry_points.h"
#include "tests/simgpu/external.h"

static struct {
    PFN_cuLibraryLoadData_v12000 library_load;
    PFN_cuLibraryGetKernel_v12000 get_kernel;
    PFN_cuLaunchKernel_v4000 launch;
    PFN_cuMemsetD32Async_v3020 set;
    PFN_cuStreamSynchronize_v2000 wait;
    simgpu_config_number_fn *config_number;
    simgpu_next_kernel_ns_fn *next_kernel_ns;
} driver;

static CUlibrary library;
static CUresult loaded = CUDA_ERROR_NOT_INITIALIZED;

static const struct entry_point entries[] = {
#define AT(member, name, version) ENTRY_POINT(__typeof__(driver), member, name, version)
    AT(library_load, "cuLibraryLoadData", 12000),
    AT(get_kernel, "cuLibraryGetKernel", 12000),
    AT(launch, "cuLaunchKernel", 4000),
    AT(wait, "cuStreamSynchronize", 2000),
    AT(set, "cuMemsetD32Async", 3020),
    AT(config_number, "simgpu_config_number", 0),
    AT(next_kernel_ns, "simgpu_next_kernel_ns", 0),
#undef AT
};

static void load(void)
{
    // The magic of a fat binary: the simulated driver reads no names of it, so that it has every kernel.
    static const unsigned image[4] = {0xba55ed50u};
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!find_entry_points(handle, entries, sizeof entries / sizeof *entries, &driver))
        return;
    if (driver.library_load(&library, image, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS)
        loaded = CUDA_SUCCESS;
}

CUresult stand_in_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded;
}

static double number(const char *key)
{
    double value = 0;
    driver.config_number(key, &value);
    return value;
}

static uint64_t duration_ns(const struct kernel *kernel)
{
    // Real libraries split small products along their inner dimension, so that they do not fall behind without limit.
    const double sms = number("sms"), least_share = 0.125;
    double share = kernel->blocks < sms ? kernel->blocks / sms : 1;
    if (share < least_share)
        share = least_share;
    const double arithmetic_s = kernel->flops / (number("flops_per_s") * kernel->flops_factor * share);
    const double memory_s = kernel->bytes / (number("bytes_per_s") * share);
    return (uint64_t)(number("kernel_base_ns") + 1e9 * (arithmetic_s > memory_s ? arithmetic_s : memory_s));
}

struct found {
    char *name;
    CUkernel kernel;
};

static int compare_found(const void *left, const void *right)
{
    return strcmp(((const struct found *)left)->name, ((const struct found *)right)->name);
}

// Looked up once, as libraries that link their kernels do; NULL when it cannot be had. Kept for the process.
static CUkernel kernel_of(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *all;
    const struct found wanted = {.name = (char *)name};
    CUkernel kernel = NULL;
    pthread_mutex_lock(&lock);
    struct found *const *known = tfind(&wanted, &all, compare_found);
    if (known) {
        kernel = (*known)->kernel;
    } else if (driver.get_kernel(&kernel, library, name) == CUDA_SUCCESS) {
        struct found *found = malloc(sizeof *found);
        if (!found || !(found->name = strdup(name)))
            abort();
        found->kernel = kernel;
        if (!tsearch(found, &all, compare_found))
            abort();
    }
    pthread_mutex_unlock(&lock);
    return kernel;
}

CUresult stand_in_launch(const struct kernel *kernel, CUstream stream)
{
    // A handle of cublas's, which serves cublasLt too, loaded the kernels of that library only.
    if (stand_in_load() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_INITIALIZED;
    const CUkernel function = kernel_of(kernel->name);
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    const unsigned blocks = kernel->blocks < 1            ? 1
                            : kernel->blocks > 2147483647 ? 2147483647u
                                                          : (unsigned)kernel->blocks;
    driver.next_kernel_ns(duration_ns(kernel));
    const CUresult result =
        driver.launch((CUfunction)function, blocks, 1, 1, kernel->threads, 1, 1, 0, stream, NULL, NULL);
    driver.next_kernel_ns(0);
    return result;
}

CUresult stand_in_clear(int *words, size_t count, CUstream stream)
{
    return words && count ? driver.set((CUdeviceptr)words, 0, count, stream) : CUDA_SUCCESS;
}

CUresult stand_in_wait(CUstream stream)
{
    return driver.wait(stream);
}
