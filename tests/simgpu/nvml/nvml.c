// NVML's view of the simulated devices: how many there are, who they are and their memory. The declarations are those
// of NVML's public documentation; its header is not among the packages this is built with. What is not here is not
// exported: programs that look for it are told so by the dynamic linker.
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/identity.h"

#define EXPORT __attribute__((visibility("default")))
#define DRIVER_VERSION "580.00.00" // of the first driver of CUDA 13

typedef enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
} nvmlReturn_t;

// Handles are the devices' numbers from 1.
typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;

static simgpu_config_number_fn *config_number;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library)
        config_number = (simgpu_config_number_fn *)dlsym(library, "simgpu_config_number");
}

static nvmlReturn_t start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return config_number ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

static double number(const char *key)
{
    double value = 0;
    config_number(key, &value);
    return value;
}

static nvmlReturn_t index_of(nvmlDevice_t device, unsigned *ret_index)
{
    if (!config_number)
        return NVML_ERROR_UNINITIALIZED;
    const uintptr_t number_from_1 = (uintptr_t)device;
    if (!number_from_1 || (double)number_from_1 > number("devices") || !ret_index)
        return NVML_ERROR_INVALID_ARGUMENT;
    *ret_index = (unsigned)number_from_1 - 1;
    return NVML_SUCCESS;
}

static nvmlReturn_t handle_of(long index, nvmlDevice_t *ret_device)
{
    if (!config_number)
        return NVML_ERROR_UNINITIALIZED;
    if (!ret_device)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (index < 0 || (double)index >= number("devices"))
        return NVML_ERROR_NOT_FOUND;
    *ret_device = (nvmlDevice_t)(index + 1); // NOLINT(performance-no-int-to-ptr)
    return NVML_SUCCESS;
}

static nvmlReturn_t text(char *to, unsigned size, const char *from)
{
    if (!config_number)
        return NVML_ERROR_UNINITIALIZED;
    if (!to)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(from) >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, from, strlen(from) + 1);
    return NVML_SUCCESS;
}

#define FUNCTION(name, ...)                                                                                            \
    nvmlReturn_t name(__VA_ARGS__);                                                                                    \
    EXPORT nvmlReturn_t name(__VA_ARGS__)

FUNCTION(nvmlInit_v2, void)
{
    return start();
}

FUNCTION(nvmlInitWithFlags, unsigned flags)
{
    (void)flags;
    return start();
}

FUNCTION(nvmlShutdown, void)
{
    return config_number ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

const char *nvmlErrorString(nvmlReturn_t result);
EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_ERROR_NOT_FOUND:
        return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    }
    return "Unknown Error";
}

FUNCTION(nvmlSystemGetDriverVersion, char *version, unsigned length)
{
    return text(version, length, DRIVER_VERSION);
}

FUNCTION(nvmlSystemGetNVMLVersion, char *version, unsigned length)
{
    return text(version, length, "13." DRIVER_VERSION);
}

FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = CUDA_VERSION;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCount_v2, unsigned *count)
{
    if (!config_number || !count)
        return config_number ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
    *count = (unsigned)number("devices");
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvmlDevice_t *device)
{
    return handle_of(index, device);
}

FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, const char *id, nvmlDevice_t *device)
{
    unsigned domain = 0, bus, slot;
    if (!id || (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3 && sscanf(id, "%x:%x", &bus, &slot) != 2))
        return NVML_ERROR_INVALID_ARGUMENT;
    return domain || slot ? NVML_ERROR_NOT_FOUND : handle_of((long)bus - SIMGPU_FIRST_BUS, device);
}

// As nvidia-smi writes it: "GPU-" and the 16 bytes in groups.
static void uuid_text(char to[48], unsigned index)
{
    unsigned char bytes[16] = SIMGPU_UUID;
    char *at = to + sprintf(to, "GPU-");
    bytes[15] = (unsigned char)(index + 1);
    for (int i = 0; i < 16; i++)
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

FUNCTION(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *device)
{
    char known[48];
    for (unsigned i = 0; uuid && config_number && i < (unsigned)number("devices"); i++) {
        uuid_text(known, i);
        if (strcmp(known, uuid) == 0)
            return handle_of(i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlDeviceGetIndex, nvmlDevice_t device, unsigned *index)
{
    return index_of(device, index);
}

FUNCTION(nvmlDeviceGetMinorNumber, nvmlDevice_t device, unsigned *minor)
{
    return index_of(device, minor);
}

FUNCTION(nvmlDeviceGetName, nvmlDevice_t device, char *name, unsigned length)
{
    unsigned index;
    const nvmlReturn_t result = index_of(device, &index);
    return result ? result : text(name, length, SIMGPU_NAME);
}

FUNCTION(nvmlDeviceGetUUID, nvmlDevice_t device, char *uuid, unsigned length)
{
    unsigned index;
    char known[48];
    const nvmlReturn_t result = index_of(device, &index);
    if (result)
        return result;
    uuid_text(known, index);
    return text(uuid, length, known);
}

FUNCTION(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t device, int *major, int *minor)
{
    unsigned index;
    const nvmlReturn_t result = index_of(device, &index);
    if (result || !major || !minor)
        return result ? result : NVML_ERROR_INVALID_ARGUMENT;
    *major = SIMGPU_MAJOR;
    *minor = SIMGPU_MINOR;
    return NVML_SUCCESS;
}

// Other processes' memory is not known here, nor is this one's told to other processes: all is free.
FUNCTION(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, nvmlMemory_t *memory)
{
    unsigned index;
    const nvmlReturn_t result = index_of(device, &index);
    if (result || !memory)
        return result ? result : NVML_ERROR_INVALID_ARGUMENT;
    memory->total = memory->free = (unsigned long long)number("memory");
    memory->used = 0;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDevice_t device, unsigned *generation)
{
    unsigned index;
    const nvmlReturn_t result = index_of(device, &index);
    if (result || !generation)
        return result ? result : NVML_ERROR_INVALID_ARGUMENT;
    *generation = 5;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCurrPcieLinkWidth, nvmlDevice_t device, unsigned *width)
{
    unsigned index;
    const nvmlReturn_t result = index_of(device, &index);
    if (result || !width)
        return result ? result : NVML_ERROR_INVALID_ARGUMENT;
    *width = 16;
    return NVML_SUCCESS;
}

// Links between devices have a rate (`link`, `p2p_gbps`) but are no NVLinks that could be counted.
FUNCTION(nvmlDeviceGetNvLinkState, nvmlDevice_t device, unsigned link, int *is_active)
{
    (void)device, (void)link, (void)is_active;
    return NVML_ERROR_NOT_SUPPORTED;
}
