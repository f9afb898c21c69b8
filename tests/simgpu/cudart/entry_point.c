/* The driver's entry points by name. Compiled once for each default stream, which decides what "default" means. */
#include "runtime.h"

static cudaError_t entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !function)
        return cudaErrorInvalidValue;
    if (flags == cudaEnableDefault)
        flags = RT_PER_THREAD ? cudaEnablePerThreadDefaultStream : cudaEnableLegacyStream;
    *function = NULL;
    CUresult result = rt_driver_find(symbol, (int)version, flags, function, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : (cudaError_t)result;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    RT_CALL(RT_DRIVER, cudaGetDriverEntryPoint, entry_point(symbol, funcPtr, RT_VERSION, flags, driverStatus));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    RT_CALL(RT_DRIVER, cudaGetDriverEntryPointByVersion,
            entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus));
}
