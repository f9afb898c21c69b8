/* Kernels as objects: attributes, handles, occupancy. */
#include <string.h>

#include "register.h"

static CUresult kernel_attribute(CUkernel kernel, CUfunction_attribute attribute, int *ret_value)
{
    return DRV(cuKernelGetAttribute)(ret_value, attribute, kernel, rt_device());
}

static cudaError_t function_attributes(struct cudaFuncAttributes *attributes, const void *function)
{
    CUkernel kernel;
    int shared, constant, local;
    cudaError_t found = rt_kernel(function, &kernel);
    if (found != cudaSuccess)
        return found;

    const struct {
        CUfunction_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes->maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes->numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes->ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes->binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attributes->cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attributes->maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attributes->preferredShmemCarveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attributes->clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attributes->requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attributes->requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attributes->requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &attributes->clusterSchedulingPolicyPreference},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &attributes->nonPortableClusterSizeAllowed},
    };
    memset(attributes, 0, sizeof *attributes);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CUresult result = kernel_attribute(kernel, wanted[i].attribute, wanted[i].value);
        if (result != CUDA_SUCCESS)
            return (cudaError_t)result;
    }
    attributes->sharedSizeBytes = (size_t)shared;
    attributes->constSizeBytes = (size_t)constant;
    attributes->localSizeBytes = (size_t)local;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    RT_CALL(RT_CONTEXT, cudaFuncGetAttributes, RT_REQUIRE(attr, function_attributes(attr, func)));
}

/* Applies EXPRESSION, which uses `kernel`, to the kernel behind FUNCTION. */
#define WITH_KERNEL(function, expression)                                                                              \
    ({                                                                                                                 \
        CUkernel kernel;                                                                                               \
        cudaError_t found = rt_kernel(function, &kernel);                                                              \
        if (found == cudaSuccess)                                                                                      \
            found = (cudaError_t)(expression);                                                                         \
        found;                                                                                                         \
    })

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    RT_CALL(RT_CONTEXT, cudaFuncSetAttribute,
            WITH_KERNEL(func, DRV(cuKernelSetAttribute)((CUfunction_attribute)attr, value, kernel, rt_device())));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value, int device)
{
    RT_CALL(RT_DRIVER, cudaKernelSetAttributeForDevice,
            DRV(cuKernelSetAttribute)((CUfunction_attribute)attr, value, (CUkernel)kernel, device));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    RT_CALL(RT_CONTEXT, cudaFuncSetCacheConfig,
            WITH_KERNEL(func, DRV(cuKernelSetCacheConfig)(kernel, (CUfunc_cache)cacheConfig, rt_device())));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    /* Documented to have no effect on devices with configurable L1 and shared memory; only the kernel is checked. */
    (void)config;
    RT_CALL(RT_CONTEXT, cudaFuncSetSharedMemConfig, WITH_KERNEL(func, kernel ? cudaSuccess : cudaErrorUnknown));
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    RT_CALL(RT_CONTEXT, cudaFuncGetName, RT_REQUIRE(name, WITH_KERNEL(func, DRV(cuKernelGetName)(name, kernel))));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    RT_CALL(RT_CONTEXT, cudaFuncGetParamInfo,
            WITH_KERNEL(func, DRV(cuKernelGetParamInfo)(kernel, paramIndex, paramOffset, paramSize)));
}

/* In C++ the header declares it through a template only in some versions. */
cudaError_t rt_get_func_by_symbol(cudaFunction_t *function, const void *symbol) RT_SYMBOL("cudaGetFuncBySymbol");

cudaError_t rt_get_func_by_symbol(cudaFunction_t *function, const void *symbol)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaGetFuncBySymbol",
                  RT_REQUIRE(function, WITH_KERNEL(symbol, DRV(cuKernelGetFunction)((CUfunction *)function, kernel))));
}

static cudaError_t get_kernel(cudaKernel_t *kernel, const void *function)
{
    CUkernel found;
    cudaError_t result = rt_kernel(function, &found);
    if (result == cudaSuccess)
        result = rt_kernel_adopt(found);
    if (result == cudaSuccess)
        *kernel = (cudaKernel_t)found;
    return result;
}

cudaError_t rt_get_kernel(cudaKernel_t *kernel, const void *function) RT_SYMBOL("cudaGetKernel");
cudaError_t rt_get_kernel_for_stub(cudaKernel_t *kernel, const void *function) RT_SYMBOL("__cudaGetKernel");

cudaError_t rt_get_kernel(cudaKernel_t *kernel, const void *function)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGetKernel", RT_REQUIRE(kernel, get_kernel(kernel, function)));
}

cudaError_t rt_get_kernel_for_stub(cudaKernel_t *kernel, const void *function)
{
    cudaError_t result = rt_prepare(RT_DRIVER);
    return result == cudaSuccess ? get_kernel(kernel, function) : result;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            WITH_KERNEL(func, DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
                                  numBlocks, (CUfunction)kernel, blockSize, dynamicSMemSize, flags)));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                          size_t dynamicSMemSize)
{
    RT_CALL(RT_CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            WITH_KERNEL(func, DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
                                  numBlocks, (CUfunction)kernel, blockSize, dynamicSMemSize, 0)));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks,
                                                      int blockSize)
{
    RT_CALL(RT_CONTEXT, cudaOccupancyAvailableDynamicSMemPerBlock,
            WITH_KERNEL(func, DRV(cuOccupancyAvailableDynamicSMemPerBlock)(dynamicSmemSize, (CUfunction)kernel,
                                                                           numBlocks, blockSize)));
}

CUlaunchConfig rt_launch_config(const cudaLaunchConfig_t *config)
{
    _Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "both have the same layout and numbers");
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
}

static cudaError_t cluster_size(int *size, const void *function, const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted = rt_launch_config(config);
    return WITH_KERNEL(function, DRV(cuOccupancyMaxPotentialClusterSize)(size, (CUfunction)kernel, &converted));
}

static cudaError_t cluster_count(int *count, const void *function, const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted = rt_launch_config(config);
    return WITH_KERNEL(function, DRV(cuOccupancyMaxActiveClusters)(count, (CUfunction)kernel, &converted));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                 const cudaLaunchConfig_t *launchConfig)
{
    RT_CALL(RT_CONTEXT, cudaOccupancyMaxPotentialClusterSize,
            RT_REQUIRE(launchConfig, cluster_size(clusterSize, func, launchConfig)));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig)
{
    RT_CALL(RT_CONTEXT, cudaOccupancyMaxActiveClusters,
            RT_REQUIRE(launchConfig, cluster_count(numClusters, func, launchConfig)));
}
