// Devices: names, attributes, links.
#include <stdio.h>
#include <string.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/identity.h"

static CUresult get(CUdevice *ret_device, int ordinal)
{
    struct device *device;
    const CUresult result = context_device_index(ordinal, &device);
    if (result || !ret_device)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult count(int *ret_count)
{
    if (!ret_count)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_count = (int)CONFIG(devices);
    return CUDA_SUCCESS;
}

static CUresult name(char *text, int size, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !text || size <= 0)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)size, SIMGPU_NAME);
    return CUDA_SUCCESS;
}

static CUresult total_memory(size_t *ret_bytes, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_bytes)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_bytes = device->memory_bytes;
    return CUDA_SUCCESS;
}

static CUresult uuid(CUuuid *ret_uuid, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_uuid)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    memcpy(ret_uuid->bytes, SIMGPU_UUID, sizeof ret_uuid->bytes);
    ret_uuid->bytes[15] = (char)(index + 1);
    return CUDA_SUCCESS;
}

static CUresult pci_id(char *text, int size, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !text || size < 13)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)size, "0000:%02X:00.0", SIMGPU_FIRST_BUS + (unsigned)index);
    return CUDA_SUCCESS;
}

static CUresult by_pci_id(CUdevice *ret_device, const char *text)
{
    unsigned domain = 0, bus, slot;
    if (!ret_device || !text)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 && sscanf(text, "%x:%x", &bus, &slot) != 2)
        return CUDA_ERROR_INVALID_VALUE;
    if (domain || slot || bus < SIMGPU_FIRST_BUS || bus >= SIMGPU_FIRST_BUS + (unsigned)CONFIG(devices))
        return CUDA_ERROR_INVALID_DEVICE;
    *ret_device = (CUdevice)(bus - SIMGPU_FIRST_BUS);
    return CUDA_SUCCESS;
}

#define ATTRIBUTE(name) CU_DEVICE_ATTRIBUTE_##name
#define YES 1

// Values of an sm_90 device. Those left out are 0: not supported, or nothing.
static const int attributes[ATTRIBUTE(MAX)] = {
    [ATTRIBUTE(MAX_THREADS_PER_BLOCK)] = 1024,
    [ATTRIBUTE(MAX_BLOCK_DIM_X)] = 1024,
    [ATTRIBUTE(MAX_BLOCK_DIM_Y)] = 1024,
    [ATTRIBUTE(MAX_BLOCK_DIM_Z)] = 64,
    [ATTRIBUTE(MAX_GRID_DIM_X)] = 2147483647,
    [ATTRIBUTE(MAX_GRID_DIM_Y)] = 65535,
    [ATTRIBUTE(MAX_GRID_DIM_Z)] = 65535,
    [ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK)] = 48 << 10,
    [ATTRIBUTE(TOTAL_CONSTANT_MEMORY)] = 64 << 10,
    [ATTRIBUTE(WARP_SIZE)] = 32,
    [ATTRIBUTE(MAX_PITCH)] = 2147483647,
    [ATTRIBUTE(MAX_REGISTERS_PER_BLOCK)] = 65536,
    [ATTRIBUTE(CLOCK_RATE)] = 1980000,
    [ATTRIBUTE(TEXTURE_ALIGNMENT)] = 512,
    [ATTRIBUTE(GPU_OVERLAP)] = YES,
    [ATTRIBUTE(CAN_MAP_HOST_MEMORY)] = YES,
    [ATTRIBUTE(MAXIMUM_TEXTURE1D_WIDTH)] = 131072,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_WIDTH)] = 131072,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_HEIGHT)] = 65536,
    [ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH)] = 16384,
    [ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT)] = 16384,
    [ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH)] = 16384,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_WIDTH)] = 32768,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)] = 32768,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_LAYERS)] = 2048,
    [ATTRIBUTE(SURFACE_ALIGNMENT)] = 512,
    [ATTRIBUTE(CONCURRENT_KERNELS)] = YES,
    [ATTRIBUTE(MEMORY_CLOCK_RATE)] = 2619000,
    [ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH)] = 5120,
    [ATTRIBUTE(L2_CACHE_SIZE)] = 50 << 20,
    [ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR)] = 2048,
    [ATTRIBUTE(ASYNC_ENGINE_COUNT)] = 3,
    [ATTRIBUTE(UNIFIED_ADDRESSING)] = YES,
    [ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_WIDTH)] = 32768,
    [ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_LAYERS)] = 2048,
    [ATTRIBUTE(TEXTURE_PITCH_ALIGNMENT)] = 32,
    [ATTRIBUTE(MAXIMUM_SURFACE1D_WIDTH)] = 32768,
    [ATTRIBUTE(MAXIMUM_SURFACE2D_WIDTH)] = 131072,
    [ATTRIBUTE(MAXIMUM_SURFACE2D_HEIGHT)] = 65536,
    [ATTRIBUTE(MAXIMUM_TEXTURE1D_LINEAR_WIDTH)] = 268435456,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_WIDTH)] = 131072,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)] = 65000,
    [ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_PITCH)] = 2097120,
    [ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR)] = SIMGPU_MAJOR,
    [ATTRIBUTE(COMPUTE_CAPABILITY_MINOR)] = SIMGPU_MINOR,
    [ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED)] = YES,
    [ATTRIBUTE(GLOBAL_L1_CACHE_SUPPORTED)] = YES,
    [ATTRIBUTE(LOCAL_L1_CACHE_SUPPORTED)] = YES,
    [ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)] = 228 << 10,
    [ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR)] = 65536,
    [ATTRIBUTE(MANAGED_MEMORY)] = YES,
    [ATTRIBUTE(HOST_NATIVE_ATOMIC_SUPPORTED)] = 0,
    [ATTRIBUTE(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)] = 2,
    [ATTRIBUTE(CONCURRENT_MANAGED_ACCESS)] = YES,
    [ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED)] = YES,
    [ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)] = YES,
    [ATTRIBUTE(COOPERATIVE_LAUNCH)] = YES,
    [ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)] = 227 << 10,
    [ATTRIBUTE(HOST_REGISTER_SUPPORTED)] = YES,
    [ATTRIBUTE(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)] = YES,
    [ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR)] = 32,
    [ATTRIBUTE(MAX_PERSISTING_L2_CACHE_SIZE)] = 31 << 20,
    [ATTRIBUTE(MAX_ACCESS_POLICY_WINDOW_SIZE)] = 128 << 20,
    [ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK)] = 1024,
    [ATTRIBUTE(MEMORY_POOLS_SUPPORTED)] = YES,
    [ATTRIBUTE(CLUSTER_LAUNCH)] = YES,
    [ATTRIBUTE(UNIFIED_FUNCTION_POINTERS)] = YES,
};

static CUresult attribute(int *value, CUdevice_attribute which, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !value || (int)which <= 0 || which >= ATTRIBUTE(MAX))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    switch ((int)which) {
    case ATTRIBUTE(MULTIPROCESSOR_COUNT):
        *value = (int)CONFIG(sms);
        break;
    case ATTRIBUTE(PCI_BUS_ID):
        *value = SIMGPU_FIRST_BUS + index;
        break;
    default:
        *value = attributes[which];
    }
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuDeviceGet, (CUdevice * device, int ordinal), get(device, ordinal))
ENTRY(NEED_INIT, cuDeviceGetCount, (int *ret_count), count(ret_count))
ENTRY(NEED_INIT, cuDeviceGetName, (char *text, int len, CUdevice dev), name(text, len, dev))
ENTRY(NEED_INIT, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), total_memory(bytes, dev))
ENTRY(NEED_INIT, cuDeviceGetUuid, (CUuuid * ret_uuid, CUdevice dev), uuid(ret_uuid, dev))
ENTRY(NEED_INIT, cuDeviceGetUuid_v2, (CUuuid * ret_uuid, CUdevice dev), uuid(ret_uuid, dev))
ENTRY(NEED_INIT, cuDeviceGetPCIBusId, (char *pciBusId, int len, CUdevice dev), pci_id(pciBusId, len, dev))
ENTRY(NEED_INIT, cuDeviceGetByPCIBusId, (CUdevice * dev, const char *pciBusId), by_pci_id(dev, pciBusId))
ENTRY(NEED_INIT, cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev), attribute(pi, attrib, dev))

static CUresult capability(int *major, int *minor, CUdevice index)
{
    const CUresult result = attribute(major, ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR), index);
    return result ? result : attribute(minor, ATTRIBUTE(COMPUTE_CAPABILITY_MINOR), index);
}

static CUresult properties(CUdevprop *ret_properties, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_properties)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_properties = (CUdevprop){.maxThreadsPerBlock = 1024,
                                  .maxThreadsDim = {1024, 1024, 64},
                                  .maxGridSize = {2147483647, 65535, 65535},
                                  .sharedMemPerBlock = 48 << 10,
                                  .totalConstantMemory = 64 << 10,
                                  .SIMDWidth = 32,
                                  .memPitch = 2147483647,
                                  .regsPerBlock = 65536,
                                  .clockRate = 1980000,
                                  .textureAlign = 512};
    return CUDA_SUCCESS;
}

static CUresult can_access(int *ret_can, CUdevice from, CUdevice to)
{
    struct device *device;
    CUresult result;
    if ((result = context_device_index(from, &device)) || (result = context_device_index(to, &device)) || !ret_can)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_can = from != to;
    return CUDA_SUCCESS;
}

static CUresult p2p_attribute(int *value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to)
{
    struct device *device;
    if (context_device_index(from, &device) || context_device_index(to, &device) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || which < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        which > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = which != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
    return CUDA_SUCCESS;
}

static CUresult texture_width(size_t *ret_width, unsigned channels, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_width || !channels)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_width = 268435456;
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuDeviceComputeCapability, (int *major, int *minor, CUdevice dev), capability(major, minor, dev))
ENTRY(NEED_INIT, cuDeviceGetProperties, (CUdevprop * prop, CUdevice dev), properties(prop, dev))
ENTRY(NEED_INIT, cuDeviceCanAccessPeer, (int *canAccessPeer, CUdevice dev, CUdevice peerDev),
      can_access(canAccessPeer, dev, peerDev))
ENTRY(NEED_INIT, cuDeviceGetP2PAttribute,
      (int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice),
      p2p_attribute(value, attrib, srcDevice, dstDevice))
ENTRY(NEED_INIT, cuDeviceGetTexture1DLinearMaxWidth,
      (size_t * maxWidthInElements, CUarray_format format, unsigned numChannels, CUdevice dev),
      ((void)format, texture_width(maxWidthInElements, numChannels, dev)))
