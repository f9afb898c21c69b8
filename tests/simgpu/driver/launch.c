// Kernel launches, and what can be asked of and set for a function.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/image.h"
#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/engine/clock.h"

// CUDA_LAUNCH_BLOCKING=1: a launch returns when its kernel has ended. Read once, as by a driver.
static bool is_blocking(void)
{
    static int answer = -1; // not asked for yet
    if (answer < 0) {
        const char *wish = getenv("CUDA_LAUNCH_BLOCKING");
        answer = wish && strcmp(wish, "1") == 0;
    }
    return answer;
}

// A kernel's code is loaded before its first launch is submitted; other threads go on meanwhile.
static void load_lazily(CUfunction function)
{
    if (function->is_loaded)
        return;
    function->is_loaded = true;
    engine_unlock();
    clock_spin_until(clock_now_ns() + (uint64_t)CONFIG(lazy_load_ns));
    engine_lock();
}

static CUresult launch(CUfunction function, const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       CUstream handle, CUstream otherwise, void **parameters, void **extra)
{
    struct work work;
    struct CUstream_st *stream;
    CUresult result = work_kernel(&work, function, grid, block, shared_bytes, parameters, extra);
    if (result)
        return result;
    load_lazily(function);
    if ((result = stream_get(handle, otherwise, &stream)))
        return result;
    struct op *op;
    if ((result = work_submit(&work, stream, &op)) || !op)
        return result;
    if (is_blocking())
        op_wait(op);
    op_unref(op);
    return CUDA_SUCCESS;
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction function, CUstream otherwise, void **parameters,
                          void **extra)
{
    if (!config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    return launch(function, grid, block, config->sharedMemBytes, config->hStream, otherwise, parameters, extra);
}

// A cooperative grid has to fit on the device at once.
static CUresult launch_cooperative(CUfunction function, const unsigned grid[3], const unsigned block[3],
                                   unsigned shared_bytes, CUstream handle, CUstream otherwise, void **parameters)
{
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads && threads <= 1024 && blocks > (2048 / threads > 32 ? 32 : 2048 / threads) * (uint64_t)CONFIG(sms))
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return launch(function, grid, block, shared_bytes, handle, otherwise, parameters, NULL);
}

#define DIMENSIONS                                                                                                     \
    unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ
#define GRID ((const unsigned[3]){gridDimX, gridDimY, gridDimZ})
#define BLOCK ((const unsigned[3]){blockDimX, blockDimY, blockDimZ})

ENTRY_STREAM(NEED_CONTEXT, cuLaunchKernel, _ptsz,
             (CUfunction f, DIMENSIONS, unsigned sharedMemBytes, CUstream hStream, void **kernelParams, void **extra),
             launch(f, GRID, BLOCK, sharedMemBytes, hStream, default_stream, kernelParams, extra))
ENTRY_STREAM(NEED_CONTEXT, cuLaunchKernelEx, _ptsz,
             (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
             launch_ex(config, f, default_stream, kernelParams, extra))
ENTRY_STREAM(NEED_CONTEXT, cuLaunchCooperativeKernel, _ptsz,
             (CUfunction f, DIMENSIONS, unsigned sharedMemBytes, CUstream hStream, void **kernelParams),
             launch_cooperative(f, GRID, BLOCK, sharedMemBytes, hStream, default_stream, kernelParams))

static CUresult get_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 90;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->max_dynamic_shared_bytes ? function->max_dynamic_shared_bytes : 48 << 10;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = function->carveout;
        break;
    default:
        if ((unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction_attribute attribute, int value, CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > 227 << 10)
            return CUDA_ERROR_INVALID_VALUE;
        function->max_dynamic_shared_bytes = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult set_cache(CUfunction function, CUfunc_cache cache)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    function->cache = cache;
    return CUDA_SUCCESS;
}

static CUresult get_name(const char **name, CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = function->name;
    return CUDA_SUCCESS;
}

// Modules and libraries hold their image at different places of the same struct.
static CUresult get_module(CUmodule *module, CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)(void *)((char *)function->image - offsetof(struct CUmod_st, image));
    return CUDA_SUCCESS;
}

static CUresult get_library(CUlibrary *library, CUfunction function)
{
    CUmodule module;
    const CUresult result = get_module(&module, function);
    if (result || !library)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if (!module->library)
        return CUDA_ERROR_NOT_FOUND;
    *library = module->library;
    return CUDA_SUCCESS;
}

static CUresult get_kernel_function(CUfunction *function, CUkernel kernel)
{
    if (!IS(kernel, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

static CUresult is_loaded(CUfunctionLoadingState *state, CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION) || !state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = function->is_loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

static CUresult load(CUfunction function)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!function->is_loaded)
        spend_ns(CONFIG(lazy_load_ns));
    function->is_loaded = true;
    return CUDA_SUCCESS;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < (int)CONFIG(devices);
}

ENTRY(NEED_CONTEXT, cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc),
      get_attribute(pi, attrib, hfunc))
ENTRY(NEED_CONTEXT, cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value),
      set_attribute(attrib, value, hfunc))
ENTRY(NEED_CONTEXT, cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), set_cache(hfunc, config))
ENTRY(NEED_CONTEXT, cuFuncSetSharedMemConfig, (CUfunction hfunc, CUsharedconfig config),
      ((void)config, IS(hfunc, MAGIC_FUNCTION) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE))
ENTRY(NEED_CONTEXT, cuFuncGetName, (const char **name, CUfunction hfunc), get_name(name, hfunc))
ENTRY(NEED_CONTEXT, cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), get_module(hmod, hfunc))
ENTRY(NEED_CONTEXT, cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function), is_loaded(state, function))
ENTRY(NEED_CONTEXT, cuFuncLoad, (CUfunction function), load(function))
ENTRY(NEED_CONTEXT, cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), get_kernel_function(pFunc, kernel))
ENTRY(NEED_INIT, cuKernelGetLibrary, (CUlibrary * pLib, CUkernel kernel), get_library(pLib, (CUfunction)kernel))
ENTRY(NEED_INIT, cuKernelGetName, (const char **name, CUkernel hfunc), get_name(name, (CUfunction)hfunc))
ENTRY(NEED_INIT, cuKernelGetAttribute, (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev),
      is_device(dev) ? get_attribute(pi, attrib, (CUfunction)kernel) : CUDA_ERROR_INVALID_DEVICE)
ENTRY(NEED_INIT, cuKernelSetAttribute, (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev),
      is_device(dev) ? set_attribute(attrib, val, (CUfunction)kernel) : CUDA_ERROR_INVALID_DEVICE)
ENTRY(NEED_INIT, cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice dev),
      is_device(dev) ? set_cache((CUfunction)kernel, config) : CUDA_ERROR_INVALID_DEVICE)

// Occupancy follows threads and shared memory; registers are taken to be few.
static CUresult blocks_per_sm(int *ret_blocks, CUfunction function, int block_threads, size_t shared_bytes)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_blocks || block_threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    const int rounded = (block_threads + 31) / 32 * 32;
    int blocks = block_threads > 1024 ? 0 : 2048 / rounded;
    const size_t of_block = shared_bytes + 1024, of_sm = 228u << 10;
    if ((size_t)blocks > of_sm / of_block)
        blocks = (int)(of_sm / of_block);
    *ret_blocks = blocks > 32 ? 32 : blocks;
    return CUDA_SUCCESS;
}

static CUresult potential_block(int *ret_grid, int *ret_block, CUfunction function, CUoccupancyB2DSize shared_of_block,
                                size_t shared_bytes, int limit)
{
    if (!ret_grid || !ret_block)
        return CUDA_ERROR_INVALID_VALUE;
    int best_threads = 0, best_blocks = 0;
    for (int threads = limit > 0 && limit < 1024 ? limit : 1024; threads > 0;
         threads -= threads % 32 ? threads % 32 : 32) {
        int blocks;
        const CUresult result =
            blocks_per_sm(&blocks, function, threads, shared_of_block ? shared_of_block(threads) : shared_bytes);
        if (result)
            return result;
        if (blocks * threads > best_blocks * best_threads) {
            best_threads = threads;
            best_blocks = blocks;
        }
    }
    *ret_block = best_threads;
    *ret_grid = best_blocks * (int)CONFIG(sms);
    return CUDA_SUCCESS;
}

static CUresult available_shared(size_t *ret_bytes, CUfunction function, int blocks, int block_threads)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_bytes || blocks <= 0 || block_threads <= 0 || blocks * block_threads > 2048)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t bytes = (228u << 10) / (unsigned)blocks - 1024;
    *ret_bytes = bytes > 227u << 10 ? 227u << 10 : bytes;
    return CUDA_SUCCESS;
}

static CUresult clusters(int *ret_count, CUfunction function, const CUlaunchConfig *config, int answer)
{
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_count || !config)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_count = answer;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
      blocks_per_sm(numBlocks, func, blockSize, dynamicSMemSize))
ENTRY(NEED_CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
      (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned flags),
      flags > 1 ? CUDA_ERROR_INVALID_VALUE : blocks_per_sm(numBlocks, func, blockSize, dynamicSMemSize))
ENTRY(NEED_CONTEXT, cuOccupancyMaxPotentialBlockSize,
      (int *minGridSize, int *blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
       size_t dynamicSMemSize, int blockSizeLimit),
      potential_block(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit))
ENTRY(NEED_CONTEXT, cuOccupancyMaxPotentialBlockSizeWithFlags,
      (int *minGridSize, int *blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
       size_t dynamicSMemSize, int blockSizeLimit, unsigned flags),
      flags > 1
          ? CUDA_ERROR_INVALID_VALUE
          : potential_block(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit))
ENTRY(NEED_CONTEXT, cuOccupancyAvailableDynamicSMemPerBlock,
      (size_t * dynamicSmemSize, CUfunction func, int numBlocks, int blockSize),
      available_shared(dynamicSmemSize, func, numBlocks, blockSize))
ENTRY(NEED_CONTEXT, cuOccupancyMaxPotentialClusterSize,
      (int *clusterSize, CUfunction func, const CUlaunchConfig *config), clusters(clusterSize, func, config, 8))
ENTRY(NEED_CONTEXT, cuOccupancyMaxActiveClusters, (int *numClusters, CUfunction func, const CUlaunchConfig *config),
      clusters(numClusters, func, config, (int)CONFIG(sms) / 2))
