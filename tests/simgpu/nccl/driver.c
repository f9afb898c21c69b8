#include "tests/simgpu/nccl/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/entry_points.h"

static struct driver driver;
static bool is_found;

static const struct entry_point entries[] = {
#define AT(member, name, version) ENTRY_POINT(struct driver, member, name, version)
    AT(init, "cuInit", 2000),
    AT(ctx_get_current, "cuCtxGetCurrent", 4000),
    AT(ctx_set_current, "cuCtxSetCurrent", 4000),
    AT(ctx_get_device, "cuCtxGetDevice", 2000),
    AT(device_get_count, "cuDeviceGetCount", 2000),
    AT(primary_ctx_retain, "cuDevicePrimaryCtxRetain", 7000),
    AT(device_get_bus_id, "cuDeviceGetPCIBusId", 4010),
    AT(module_load_data, "cuModuleLoadData", 2000),
    AT(module_get_function, "cuModuleGetFunction", 2000),
    AT(launch_kernel, "cuLaunchKernel", 4000),
    AT(copy_async, "cuMemcpyDtoDAsync", 3020),
    AT(mem_alloc, "cuMemAlloc", 3020),
    AT(mem_free, "cuMemFree", 3020),
    AT(config_number, "simgpu_config_number", 0),
    AT(next_kernel, "simgpu_next_kernel", 0),
    AT(start, "simgpu_external_start", 0),
    AT(finish, "simgpu_external_finish", 0),
    AT(effect, "simgpu_effect", 0),
    AT(lock, "simgpu_lock", 0),
    AT(unlock, "simgpu_unlock", 0),
    AT(link_gbps, "simgpu_link_gbps", 0),
#undef AT
};

static void *library;

// What a truth row needs. Not among the look-ups of driver_get, which are calls within the first one of the program.
static void open_library(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return;
    driver.call_begin = (simgpu_call_begin_fn *)dlsym(library, "simgpu_call_begin");
    driver.call_end = (simgpu_call_end_fn *)dlsym(library, "simgpu_call_end");
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return driver.call_begin && driver.call_end;
}

static void load(void)
{
    if (!find_entry_points(has_library() ? library : NULL, entries, sizeof entries / sizeof *entries, &driver))
        return;
    __atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
}

const struct driver *driver_known(void)
{
    return __atomic_load_n(&is_found, __ATOMIC_ACQUIRE) ? &driver : NULL;
}

const struct driver *driver_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_found ? &driver : NULL;
}

double driver_number(const char *key)
{
    double value = 0;
    driver.config_number(key, &value);
    return value;
}

struct known_kernel {
    char *name;
    CUfunction function;
    struct known_kernel *next;
};

// Looked up once, as NCCL does: a look-up at each launch would be seen as a load.
static CUfunction look_up(struct known_kernel **all, CUmodule module, const char *name)
{
    CUfunction function = NULL;
    for (const struct known_kernel *known = *all; known; known = known->next) {
        if (strcmp(known->name, name) == 0)
            return known->function;
    }
    if (driver.module_get_function(&function, module, name))
        return NULL;
    struct known_kernel *added = malloc(sizeof *added);
    if (!added || !(added->name = strdup(name)))
        abort();
    added->function = function;
    added->next = *all;
    *all = added;
    return function;
}

CUfunction driver_kernel(CUcontext context, const char *name)
{
    // The magic of a fat binary: the simulated driver reads no names of it, so that it has every kernel.
    static const unsigned image[4] = {0xba55ed50u};
    static struct {
        CUcontext context;
        CUmodule module;
        struct known_kernel *kernels;
    } modules[64];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CUfunction function = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (modules[i].context && modules[i].context != context)
            continue;
        if (!modules[i].context) {
            if (driver.module_load_data(&modules[i].module, image))
                break;
            modules[i].context = context;
        }
        function = look_up(&modules[i].kernels, modules[i].module, name);
        break;
    }
    pthread_mutex_unlock(&lock);
    return function;
}

ncclResult_t entry_begin(struct simgpu_call *call, const char *name, const void *caller)
{
    if (!has_library())
        return fail(ncclSystemError, "the simulated libcuda.so.1 is not in this process");
    const int injected = driver.call_begin(call, name, caller);
    if (!injected && !driver_get())
        return fail(ncclSystemError, "the libcuda.so.1 of this process lacks what the simulated NCCL needs");
    return injected >= (int)ncclNumResults ? ncclUnhandledCudaError : (ncclResult_t)injected;
}

ncclResult_t entry_end(struct simgpu_call *call, ncclResult_t result)
{
    if (has_library())
        driver.call_end(call, (int)result);
    return result;
}

static __thread const char *failure;

ncclResult_t fail(ncclResult_t result, const char *why)
{
    failure = why;
    return result;
}

const char *last_failure(void)
{
    return failure ? failure : "";
}
