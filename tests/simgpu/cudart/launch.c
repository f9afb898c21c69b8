/* Kernel launches and host functions. Compiled once for each default stream. */
#include "register.h"

static cudaError_t launch_error(CUresult result, dim3 grid, dim3 block)
{
    /* The driver says that a value is invalid; the runtime says which kind: a shape that no kernel can have. */
    const unsigned threads_max = 1024;
    bool shape_is_wrong = !grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || grid.y > 65535 ||
                          grid.z > 65535 || grid.x > 2147483647u || block.z > 64 ||
                          (unsigned long long)block.x * block.y * block.z > threads_max;
    return result == CUDA_ERROR_INVALID_VALUE && shape_is_wrong ? cudaErrorInvalidConfiguration : (cudaError_t)result;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes, cudaStream_t stream)
{
    CUresult result = DRV(cuLaunchKernel)((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                          (unsigned)shared_bytes, stream, args, NULL);
    return launch_error(result, grid, block);
}

static cudaError_t launch_symbol(const void *function, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                 cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t result = rt_kernel(function, &kernel);
    return result == cudaSuccess ? launch(kernel, grid, block, args, shared_bytes, stream) : result;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                             cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaLaunchKernel, launch_symbol(func, gridDim, blockDim, args, sharedMem, stream));
}

/* What <<<…>>> compiles to: the kernel comes from __cudaGetKernel, NULL if that failed. */
cudaError_t rt_launch_kernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                             cudaStream_t stream) RT_SYMBOL("__cudaLaunchKernel" RT_SUFFIX_PTSZ);

cudaError_t rt_launch_kernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                             cudaStream_t stream)
{
    RT_CALL_NAMED(RT_CONTEXT, "__cudaLaunchKernel" RT_SUFFIX_PTSZ,
                  kernel ? launch((CUkernel)kernel, grid, block, args, shared_bytes, stream)
                         : cudaErrorInvalidDeviceFunction);
}

static cudaError_t launch_configured(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    CUkernel kernel;
    cudaError_t result = rt_kernel(function, &kernel);
    if (result != cudaSuccess)
        return result;
    CUlaunchConfig driver_config = rt_launch_config(config);
    return launch_error(DRV(cuLaunchKernelEx)(&driver_config, (CUfunction)kernel, args, NULL), config->gridDim,
                        config->blockDim);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    RT_CALL(RT_CONTEXT, cudaLaunchKernelExC, config ? launch_configured(config, func, args) : cudaErrorInvalidValue);
}

static cudaError_t launch_cooperative(const void *function, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                      cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t result = rt_kernel(function, &kernel);
    if (result != cudaSuccess)
        return result;
    return launch_error(DRV(cuLaunchCooperativeKernel)((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y,
                                                       block.z, (unsigned)shared_bytes, stream, args),
                        grid, block);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                        cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaLaunchCooperativeKernel,
            launch_cooperative(func, gridDim, blockDim, args, sharedMem, stream));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    RT_CALL(RT_CONTEXT, cudaLaunchHostFunc, DRV(cuLaunchHostFunc)(stream, fn, userData));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
                                  unsigned int flags)
{
    /* CUresult and cudaError_t share their numbers, so the program's function can be called by the driver itself. */
    RT_CALL(RT_CONTEXT, cudaStreamAddCallback,
            DRV(cuStreamAddCallback)(stream, (CUstreamCallback)callback, userData, flags));
}
