/* Finds the driver and fills the table of its entry points. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "driver.h"

struct rt_driver rt_driver[2];
struct rt_truth rt_truth;

static void *driver_library;
static PFN_cuGetProcAddress_v12000 get_proc_address;
static bool driver_found;

struct entry {
    const char *name;
    int version;
    int per_thread_version;
    size_t offset;
};

static const struct entry entries[] = {
#define RT_DRV(name, version, per_thread_version)                                                                      \
    {#name, version, per_thread_version, offsetof(struct rt_driver, p_##name)},
#define RT_DRV_TYPED(key, type, name, version, per_thread_version)                                                     \
    {name, version, per_thread_version, offsetof(struct rt_driver, p_##key)},
#include "driver.def"
#undef RT_DRV
#undef RT_DRV_TYPED
};

/* Stands in for entry points that an older driver lacks: every caller ignores the arguments' number. */
static CUresult entry_missing(void)
{
    return (CUresult)cudaErrorCallRequiresNewerDriver;
}

static void *look_up(const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result = get_proc_address(name, &function, version, flags, &status);
    return result == CUDA_SUCCESS && function ? function : (void *)entry_missing;
}

static void open_driver(void)
{
    driver_library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver_library)
        return;
    rt_truth.begin = (__typeof__(rt_truth.begin))dlsym(driver_library, "simgpu_call_begin");
    rt_truth.end = (__typeof__(rt_truth.end))dlsym(driver_library, "simgpu_call_end");
}

void rt_driver_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
}

static void load(void)
{
    rt_driver_open();
    if (!driver_library)
        return;
    get_proc_address = (PFN_cuGetProcAddress_v12000)dlsym(driver_library, "cuGetProcAddress_v2");
    if (!get_proc_address)
        return;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const struct entry *entry = &entries[i];
        void **legacy = (void **)((char *)&rt_driver[0] + entry->offset);
        void **per_thread = (void **)((char *)&rt_driver[1] + entry->offset);
        *legacy = look_up(entry->name, entry->version, CU_GET_PROC_ADDRESS_DEFAULT);
        *per_thread = entry->per_thread_version ? look_up(entry->name, entry->per_thread_version,
                                                          CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
                                                : *legacy;
    }
    driver_found = true;
}

bool rt_driver_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return driver_found;
}

CUresult rt_driver_find(const char *name, int version, cuuint64_t flags, void **ret_function,
                        CUdriverProcAddressQueryResult *ret_status)
{
    return get_proc_address(name, ret_function, version, flags, ret_status);
}
