/* The registry of fat binaries, kernels and variables. */
#include <fatbinary_section.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "register.h"

struct image {
    const void *code; /* what cuLibraryLoadData gets */
    CUlibrary library;
    struct symbol *symbols;
};

enum symbol_kind { SYMBOL_KERNEL, SYMBOL_VARIABLE, SYMBOL_MANAGED, SYMBOL_ADOPTED };

struct symbol {
    const void *key; /* host stub, host variable, or the kernel itself when adopted */
    enum symbol_kind kind;
    const char *name; /* borrowed from the program */
    size_t size_bytes;
    struct image *image;
    CUkernel kernel;       /* once found */
    void **managed_host;   /* where the program keeps a managed variable's address */
    struct symbol *next;   /* in the bucket */
    struct symbol *sister; /* in the image */
};

#define BUCKET_COUNT 16384u

static struct symbol *buckets[BUCKET_COUNT];
/* Guards the buckets and everything lazily filled in. Read for the look-ups of launches. */
static pthread_rwlock_t registry_lock = PTHREAD_RWLOCK_INITIALIZER;

static struct symbol **bucket(const void *key)
{
    return &buckets[((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 50 & (BUCKET_COUNT - 1)];
}

static struct symbol *find(const void *key)
{
    struct symbol *symbol = *bucket(key);
    while (symbol && symbol->key != key)
        symbol = symbol->next;
    return symbol;
}

/* The registry is the sole owner of what it is given. Out of memory at start-up has no error to return: the symbol
 * stays unknown. */
static void insert(struct symbol prototype)
{
    struct symbol *symbol = malloc(sizeof *symbol);
    if (!symbol)
        return;
    *symbol = prototype;
    pthread_rwlock_wrlock(&registry_lock);
    struct symbol **head = bucket(symbol->key);
    symbol->next = *head;
    *head = symbol;
    if (symbol->image) {
        symbol->sister = symbol->image->symbols;
        symbol->image->symbols = symbol;
    }
    pthread_rwlock_unlock(&registry_lock);
}

static void remove_from_bucket(const struct symbol *symbol)
{
    struct symbol **link = bucket(symbol->key);
    while (*link && *link != symbol)
        link = &(*link)->next;
    if (*link)
        *link = symbol->next;
}

/* With the lock held for writing. */
static CUresult load_image(struct image *image)
{
    if (image->library)
        return CUDA_SUCCESS;
    return DRV(cuLibraryLoadData)(&image->library, image->code, NULL, NULL, 0, NULL, NULL, 0);
}

static cudaError_t resolve_kernel(struct symbol *symbol)
{
    CUresult result = load_image(symbol->image);
    if (result == CUDA_SUCCESS)
        result = DRV(cuLibraryGetKernel)(&symbol->kernel, symbol->image->library, symbol->name);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel)
{
    cudaError_t result = cudaSuccess;
    CUkernel kernel = NULL;

    pthread_rwlock_rdlock(&registry_lock);
    struct symbol *symbol = find(function);
    if (symbol)
        kernel = symbol->kernel;
    pthread_rwlock_unlock(&registry_lock);
    if (!symbol || (symbol->kind != SYMBOL_KERNEL && symbol->kind != SYMBOL_ADOPTED))
        return cudaErrorInvalidDeviceFunction;
    if (!kernel) {
        pthread_rwlock_wrlock(&registry_lock);
        if (!symbol->kernel)
            result = resolve_kernel(symbol);
        kernel = symbol->kernel;
        pthread_rwlock_unlock(&registry_lock);
    }
    if (result == cudaSuccess)
        *ret_kernel = kernel;
    return result;
}

void *rt_kernel_symbol(CUkernel kernel)
{
    const void *key = kernel;
    pthread_rwlock_rdlock(&registry_lock);
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        for (const struct symbol *symbol = buckets[i]; symbol; symbol = symbol->next) {
            if (symbol->kind == SYMBOL_KERNEL && symbol->kernel == kernel)
                key = symbol->key;
        }
    }
    pthread_rwlock_unlock(&registry_lock);
    return (void *)key;
}

cudaError_t rt_kernel_adopt(CUkernel kernel)
{
    pthread_rwlock_rdlock(&registry_lock);
    bool known = find(kernel) != NULL;
    pthread_rwlock_unlock(&registry_lock);
    if (!known)
        insert((struct symbol){.key = kernel, .kind = SYMBOL_ADOPTED, .kernel = kernel});
    return cudaSuccess;
}

cudaError_t rt_variable(const void *key, CUdeviceptr *ret_address, size_t *ret_size_bytes)
{
    CUdeviceptr address = 0;
    size_t size_bytes = 0;

    pthread_rwlock_wrlock(&registry_lock);
    struct symbol *symbol = find(key);
    CUresult result = CUDA_SUCCESS;
    if (!symbol || (symbol->kind != SYMBOL_VARIABLE && symbol->kind != SYMBOL_MANAGED)) {
        pthread_rwlock_unlock(&registry_lock);
        return cudaErrorInvalidSymbol;
    }
    result = load_image(symbol->image);
    if (result == CUDA_SUCCESS) {
        CUlibrary library = symbol->image->library;
        result = symbol->kind == SYMBOL_MANAGED ? DRV(cuLibraryGetManaged)(&address, &size_bytes, library, symbol->name)
                                                : DRV(cuLibraryGetGlobal)(&address, &size_bytes, library, symbol->name);
    }
    size_bytes = symbol->size_bytes;
    pthread_rwlock_unlock(&registry_lock);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidSymbol;
    if (result == CUDA_SUCCESS) {
        if (ret_address)
            *ret_address = address;
        if (ret_size_bytes)
            *ret_size_bytes = size_bytes;
    }
    return (cudaError_t)result;
}

cudaError_t rt_variable_range(const void *symbol, size_t count, size_t offset, void **ret_address)
{
    CUdeviceptr address;
    size_t size_bytes;
    cudaError_t result = rt_variable(symbol, &address, &size_bytes);
    if (result != cudaSuccess)
        return result;
    if (offset > size_bytes || count > size_bytes - offset)
        return cudaErrorInvalidValue;
    *ret_address = rt_pointer(address + offset);
    return cudaSuccess;
}

/* What nvcc's host code calls (declared in crt/host_runtime.h, which only C++ can include). */
void **__cudaRegisterFatBinary(void *fat_binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function, const char *device_name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_dim, dim3 *grid_dim,
                            int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name, int external,
                       size_t size_bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host_variable, char *device_address, const char *device_name,
                              int external, size_t size_bytes, int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *device_name, char *host_variable, size_t size_bytes);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *fat_binary)
{
    const __fatBinC_Wrapper_t *wrapper = fat_binary;
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->code = fat_binary;
    if (wrapper && wrapper->magic == FATBINC_MAGIC && wrapper->version == FATBINC_VERSION)
        image->code = wrapper->data;
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle; /* libraries are loaded at first use */
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct image *image = (struct image *)handle;
    if (!image || rt_forked())
        return;
    pthread_rwlock_wrlock(&registry_lock);
    for (struct symbol *symbol = image->symbols, *sister; symbol; symbol = sister) {
        sister = symbol->sister;
        remove_from_bucket(symbol);
        free(symbol);
    }
    pthread_rwlock_unlock(&registry_lock);
    if (image->library)
        DRV(cuLibraryUnload)(image->library);
    free(image);
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function, const char *device_name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_dim, dim3 *grid_dim,
                            int *warp_size)
{
    (void)device_function, (void)thread_limit, (void)thread, (void)block, (void)block_dim, (void)grid_dim,
        (void)warp_size;
    if (handle)
        insert((struct symbol){
            .key = host_function, .kind = SYMBOL_KERNEL, .name = device_name, .image = (struct image *)handle});
}

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name, int external,
                       size_t size_bytes, int constant, int global)
{
    (void)device_address, (void)external, (void)constant, (void)global;
    if (handle)
        insert((struct symbol){.key = host_variable,
                               .kind = SYMBOL_VARIABLE,
                               .name = device_name,
                               .size_bytes = size_bytes,
                               .image = (struct image *)handle});
}

void __cudaRegisterManagedVar(void **handle, void **host_variable, char *device_address, const char *device_name,
                              int external, size_t size_bytes, int constant, int global)
{
    (void)device_address, (void)external, (void)constant, (void)global;
    if (handle)
        insert((struct symbol){.key = host_variable,
                               .kind = SYMBOL_MANAGED,
                               .name = device_name,
                               .size_bytes = size_bytes,
                               .image = (struct image *)handle,
                               .managed_host = host_variable});
}

void __cudaRegisterHostVar(void **handle, const char *device_name, char *host_variable, size_t size_bytes)
{
    /* A host variable that device code reaches: device code does not run here. */
    (void)handle, (void)device_name, (void)host_variable, (void)size_bytes;
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
    /* Function pointers shared with device code: likewise. */
    (void)handle, (void)table;
}

/* Called before the host's first access to a managed variable of the module: gives each its address. */
char __cudaInitModule(void **handle)
{
    struct image *image = (struct image *)handle;
    cudaError_t result = rt_prepare(RT_CONTEXT);

    for (struct symbol *symbol = image->symbols; symbol && result == cudaSuccess; symbol = symbol->sister) {
        CUdeviceptr address = 0;
        if (symbol->kind != SYMBOL_MANAGED)
            continue;
        result = rt_variable(symbol->key, &address, NULL);
        if (result == cudaSuccess)
            *symbol->managed_host = rt_pointer(address);
    }
    return result == cudaSuccess;
}

static cudaError_t symbol_address(void **address, const void *symbol)
{
    CUdeviceptr found;
    cudaError_t result = rt_variable(symbol, &found, NULL);
    if (result == cudaSuccess)
        *address = rt_pointer(found);
    return result;
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    RT_CALL(RT_CONTEXT, cudaGetSymbolAddress, RT_REQUIRE(devPtr, symbol_address(devPtr, symbol)));
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    RT_CALL(RT_CONTEXT, cudaGetSymbolSize, RT_REQUIRE(size, rt_variable(symbol, NULL, size)));
}
