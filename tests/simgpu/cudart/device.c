/* Devices: which there are, which one a thread uses, limits, peers. */
#include <string.h>

#include "runtime.h"

static CUresult check_device(int device)
{
    int count = 0;
    CUresult result = DRV(cuDeviceGetCount)(&count);
    if (result != CUDA_SUCCESS)
        return result;
    return device >= 0 && device < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static cudaError_t device_count(int *count)
{
    CUresult result = DRV(cuDeviceGetCount)(count);
    if (result == CUDA_SUCCESS && *count == 0)
        return cudaErrorNoDevice;
    return (cudaError_t)result;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count)
        *count = 0;
    RT_CALL(RT_DRIVER, cudaGetDeviceCount, RT_REQUIRE(count, device_count(count)));
}

cudaError_t cudaGetDevice(int *device)
{
    RT_CALL(RT_DRIVER, cudaGetDevice, device ? (*device = rt_device(), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE);
}

static cudaError_t set_device(int device)
{
    CUresult result = check_device(device);
    return result == CUDA_SUCCESS ? rt_set_device(device) : (cudaError_t)result;
}

cudaError_t cudaSetDevice(int device)
{
    RT_CALL(RT_DRIVER, cudaSetDevice, set_device(device));
}

#define INIT_DEVICE_FLAGS_ARE_VALID 1u

static cudaError_t init_device(int device, unsigned device_flags, unsigned flags)
{
    CUcontext context;
    CUresult result = check_device(device);
    if (result == CUDA_SUCCESS && (flags & INIT_DEVICE_FLAGS_ARE_VALID))
        result = DRV(cuDevicePrimaryCtxSetFlags)(device, device_flags);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(device, &context);
    return (cudaError_t)result;
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaInitDevice, init_device(device, deviceFlags, flags));
}

static cudaError_t choose_valid(const int *devices, int length)
{
    if (length < 0 || (length > 0 && !devices))
        return cudaErrorInvalidValue;
    for (int i = 0; i < length; i++) {
        CUresult result = check_device(devices[i]);
        if (result != CUDA_SUCCESS)
            return (cudaError_t)result;
    }
    rt_choose_device(length > 0 ? devices[0] : 0);
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
    RT_CALL(RT_DRIVER, cudaSetValidDevices, choose_valid(device_arr, len));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    RT_CALL(RT_DRIVER, cudaSetDeviceFlags,
            DRV(cuDevicePrimaryCtxSetFlags)(rt_device(), flags & ~(unsigned)cudaDeviceMapHost));
}

static cudaError_t device_flags(unsigned *flags)
{
    int active;
    CUresult result = DRV(cuDevicePrimaryCtxGetState)(rt_device(), flags, &active);
    *flags |= cudaDeviceMapHost;
    return (cudaError_t)result;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    RT_CALL(RT_DRIVER, cudaGetDeviceFlags, RT_REQUIRE(flags, device_flags(flags)));
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetAttribute,
            RT_REQUIRE(value, DRV(cuDeviceGetAttribute)(value, (CUdevice_attribute)attr, device)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetP2PAttribute,
            RT_REQUIRE(value, DRV(cuDeviceGetP2PAttribute)(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice)));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetByPCIBusId, RT_REQUIRE(device, DRV(cuDeviceGetByPCIBusId)(device, pciBusId)));
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetPCIBusId, RT_REQUIRE(pciBusId, DRV(cuDeviceGetPCIBusId)(pciBusId, len, device)));
}

cudaError_t cudaDeviceSynchronize(void)
{
    RT_CALL(RT_CONTEXT, cudaDeviceSynchronize, DRV(cuCtxSynchronize)());
}

static cudaError_t reset_device(void)
{
    CUresult result = rt_reset_device(rt_device());
    rt_clear_error(true);
    return (cudaError_t)result;
}

cudaError_t cudaDeviceReset(void)
{
    RT_CALL(RT_DRIVER, cudaDeviceReset, reset_device());
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    RT_CALL(RT_CONTEXT, cudaDeviceSetLimit, DRV(cuCtxSetLimit)((CUlimit)limit, value));
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    RT_CALL(RT_CONTEXT, cudaDeviceGetLimit, RT_REQUIRE(pValue, DRV(cuCtxGetLimit)(pValue, (CUlimit)limit)));
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    RT_CALL(RT_CONTEXT, cudaDeviceGetCacheConfig,
            RT_REQUIRE(pCacheConfig, DRV(cuCtxGetCacheConfig)((CUfunc_cache *)pCacheConfig)));
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    RT_CALL(RT_CONTEXT, cudaDeviceSetCacheConfig, DRV(cuCtxSetCacheConfig)((CUfunc_cache)cacheConfig));
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    RT_CALL(RT_CONTEXT, cudaDeviceGetSharedMemConfig,
            RT_REQUIRE(pConfig, DRV(cuCtxGetSharedMemConfig)((CUsharedconfig *)pConfig)));
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    RT_CALL(RT_CONTEXT, cudaDeviceSetSharedMemConfig, DRV(cuCtxSetSharedMemConfig)((CUsharedconfig)config));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    RT_CALL(RT_CONTEXT, cudaDeviceGetStreamPriorityRange,
            DRV(cuCtxGetStreamPriorityRange)(leastPriority, greatestPriority));
}

static CUresult texture_width(size_t *elements, const struct cudaChannelFormatDesc *desc, int device)
{
    int channels = (desc->x != 0) + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
    CUarray_format format = desc->x == 8 ? CU_AD_FORMAT_UNSIGNED_INT8
                                         : (desc->x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT32);
    return DRV(cuDeviceGetTexture1DLinearMaxWidth)(elements, format, (unsigned)channels, device);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                 const struct cudaChannelFormatDesc *fmtDesc, int device)
{
    RT_CALL(RT_DRIVER, cudaDeviceGetTexture1DLinearMaxWidth,
            RT_REQUIRE(maxWidthInElements && fmtDesc, texture_width(maxWidthInElements, fmtDesc, device)));
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    RT_CALL(RT_CONTEXT, cudaCtxResetPersistingL2Cache, DRV(cuCtxResetPersistingL2Cache)());
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    RT_CALL(RT_CONTEXT, cudaDeviceFlushGPUDirectRDMAWrites,
            DRV(cuFlushGPUDirectRDMAWrites)((CUflushGPUDirectRDMAWritesTarget)target,
                                            (CUflushGPUDirectRDMAWritesScope)scope));
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    RT_CALL(RT_DRIVER, cudaDeviceCanAccessPeer,
            RT_REQUIRE(canAccessPeer, DRV(cuDeviceCanAccessPeer)(canAccessPeer, device, peerDevice)));
}

static cudaError_t enable_peer(int peer, unsigned flags)
{
    CUcontext context;
    CUresult result = check_device(peer);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(peer, &context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuCtxEnablePeerAccess)(context, flags);
    return (cudaError_t)result;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaDeviceEnablePeerAccess, enable_peer(peerDevice, flags));
}

static cudaError_t disable_peer(int peer)
{
    CUcontext context;
    CUresult result = check_device(peer);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(peer, &context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuCtxDisablePeerAccess)(context);
    return (cudaError_t)result;
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    RT_CALL(RT_CONTEXT, cudaDeviceDisablePeerAccess, disable_peer(peerDevice));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaIpcGetEventHandle, DRV(cuIpcGetEventHandle)((CUipcEventHandle *)handle, event));
}

static CUresult open_event_handle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle copy;
    _Static_assert(sizeof copy == sizeof handle, "both are 64 opaque bytes");
    memcpy(&copy, &handle, sizeof copy);
    return DRV(cuIpcOpenEventHandle)(event, copy);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    RT_CALL(RT_CONTEXT, cudaIpcOpenEventHandle, open_event_handle(event, handle));
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    RT_CALL(RT_CONTEXT, cudaIpcGetMemHandle, DRV(cuIpcGetMemHandle)((CUipcMemHandle *)handle, (CUdeviceptr)devPtr));
}

static CUresult open_memory_handle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags)
{
    CUipcMemHandle copy;
    _Static_assert(sizeof copy == sizeof handle, "both are 64 opaque bytes");
    memcpy(&copy, &handle, sizeof copy);
    return DRV(cuIpcOpenMemHandle)((CUdeviceptr *)pointer, copy, flags);
}

cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaIpcOpenMemHandle, open_memory_handle(devPtr, handle, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
    RT_CALL(RT_CONTEXT, cudaIpcCloseMemHandle, DRV(cuIpcCloseMemHandle)((CUdeviceptr)devPtr));
}

static cudaError_t driver_version(int *version)
{
    *version = 0;
    if (!rt_driver_load())
        return cudaSuccess;
    return (cudaError_t)DRV(cuDriverGetVersion)(version);
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    RT_CALL(RT_NOTHING, cudaDriverGetVersion, RT_REQUIRE(driverVersion, driver_version(driverVersion)));
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    RT_CALL(RT_NOTHING, cudaRuntimeGetVersion,
            RT_REQUIRE(runtimeVersion, (*runtimeVersion = RT_VERSION, CUDA_SUCCESS)));
}

/* From cuda_profiler_api.h, which is not in every package of the toolkit. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

cudaError_t cudaProfilerStart(void)
{
    RT_CALL(RT_CONTEXT, cudaProfilerStart, DRV(cuProfilerStart)());
}

cudaError_t cudaProfilerStop(void)
{
    RT_CALL(RT_CONTEXT, cudaProfilerStop, DRV(cuProfilerStop)());
}

#if RT_MAJOR == 12
/* The names from before CUDA 4, which 13 dropped. */
cudaError_t rt_thread_exit(void) RT_SYMBOL("cudaThreadExit");
cudaError_t rt_thread_synchronize(void) RT_SYMBOL("cudaThreadSynchronize");
cudaError_t rt_thread_set_limit(enum cudaLimit limit, size_t value) RT_SYMBOL("cudaThreadSetLimit");
cudaError_t rt_thread_get_limit(size_t *value, enum cudaLimit limit) RT_SYMBOL("cudaThreadGetLimit");
cudaError_t rt_thread_get_cache_config(enum cudaFuncCache *config) RT_SYMBOL("cudaThreadGetCacheConfig");
cudaError_t rt_thread_set_cache_config(enum cudaFuncCache config) RT_SYMBOL("cudaThreadSetCacheConfig");

cudaError_t rt_thread_exit(void)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaThreadExit", reset_device());
}

cudaError_t rt_thread_synchronize(void)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaThreadSynchronize", DRV(cuCtxSynchronize)());
}

cudaError_t rt_thread_set_limit(enum cudaLimit limit, size_t value)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaThreadSetLimit", DRV(cuCtxSetLimit)((CUlimit)limit, value));
}

cudaError_t rt_thread_get_limit(size_t *value, enum cudaLimit limit)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaThreadGetLimit", RT_REQUIRE(value, DRV(cuCtxGetLimit)(value, (CUlimit)limit)));
}

cudaError_t rt_thread_get_cache_config(enum cudaFuncCache *config)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaThreadGetCacheConfig",
                  RT_REQUIRE(config, DRV(cuCtxGetCacheConfig)((CUfunc_cache *)config)));
}

cudaError_t rt_thread_set_cache_config(enum cudaFuncCache config)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaThreadSetCacheConfig", DRV(cuCtxSetCacheConfig)((CUfunc_cache)config));
}
#endif
