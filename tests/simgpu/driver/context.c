// Contexts: primary ones, created ones, the current one of each thread, limits and waiting.
#include <string.h>

#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/ranges.h"

static struct CUctx_st *primary[SIMGPU_MAX_DEVICES]; // NULL until first retained
static unsigned primary_flags[SIMGPU_MAX_DEVICES];

#define CONTEXT_COUNT 256u
static struct CUctx_st *all[CONTEXT_COUNT];
static uint64_t last_id;

static const size_t default_limits[CU_LIMIT_MAX] = {
    [CU_LIMIT_STACK_SIZE] = 1024,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 8u << 20,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20,
    [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

struct CUctx_st *context_current(void)
{
    return sim_thread.context_count ? sim_thread.contexts[sim_thread.context_count - 1] : NULL;
}

CUresult context_device_index(CUdevice device, struct device **ret_device)
{
    if (device < 0 || device >= (int)CONFIG(devices))
        return CUDA_ERROR_INVALID_DEVICE;
    *ret_device = &sim_devices[device];
    return CUDA_SUCCESS;
}

struct CUctx_st *context_next(const struct CUctx_st *context)
{
    bool found = !context;
    for (unsigned i = 0; i < CONTEXT_COUNT; i++) {
        if (found && all[i])
            return all[i];
        found |= all[i] == context;
    }
    return NULL;
}

struct CUctx_st *context_new(struct device *device, unsigned flags)
{
    unsigned slot = 0;
    while (slot < CONTEXT_COUNT && all[slot])
        slot++;
    if (slot == CONTEXT_COUNT)
        return NULL;
    struct CUctx_st *context = object_new(MAGIC_CONTEXT, sizeof *context);
    context->device = device;
    context->flags = flags;
    context->api_version = 3020;
    context->id = ++last_id;
    memcpy(context->limits, default_limits, sizeof default_limits);
    stream_init_legacy(context);
    all[slot] = context;
    return context;
}

void context_wait(struct CUctx_st *context)
{
    op_wait(context->orphans);
    op_wait(context->legacy.last);
    // The list may change while the lock is released; whoever destroys a stream leaves its work to `orphans`.
    for (struct CUstream_st *stream = context->streams; stream;) {
        if (op_complete(stream->last)) {
            stream = stream->next;
            continue;
        }
        op_wait(stream->last);
        stream = context->streams;
    }
}

void device_wait(struct device *device)
{
    for (struct CUctx_st *context = context_next(NULL); context; context = context_next(context)) {
        if (context->device == device)
            context_wait(context);
    }
}

void context_delete(struct CUctx_st *context)
{
    context_wait(context);
    streams_delete_all(context);
    images_delete_all(context);
    op_unref(context->orphans);
    for (unsigned i = 0; i < CONTEXT_COUNT; i++) {
        if (all[i] == context)
            all[i] = NULL;
    }
    object_free(context, sizeof *context);
}

static CUresult primary_retain(CUcontext *ret_context, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_context)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    struct CUctx_st *context = primary[index];
    if (!context) {
        context = primary[index] = context_new(device, primary_flags[index]);
        if (!context)
            return CUDA_ERROR_OUT_OF_MEMORY;
        context->is_primary = true;
    }
    context->retained++;
    *ret_context = context;
    return CUDA_SUCCESS;
}

struct victims {
    struct CUctx_st *context;
    struct range *found[256];
    unsigned count;
};

static void find_victim(struct range *range, void *argument)
{
    struct victims *victims = argument;
    if (range->kind == RANGE_DEVICE && range->context == victims->context && !range->graph &&
        victims->count < sizeof victims->found / sizeof *victims->found)
        victims->found[victims->count++] = range;
}

static void free_ranges_of(struct CUctx_st *context)
{
    struct victims victims;
    do {
        victims = (struct victims){.context = context};
        range_for_each(find_victim, &victims);
        for (unsigned i = 0; i < victims.count; i++)
            device_memory_give(victims.found[i]);
    } while (victims.count);
}

static CUresult primary_end(CUdevice index, bool reset)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    struct CUctx_st *context = result ? NULL : primary[index];
    if (!context || (!reset && !context->retained))
        return result ? result : reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!reset && --context->retained)
        return CUDA_SUCCESS;
    // The handle stays what it was: a reset context is used again by whoever retained it.
    const unsigned retained = context->retained;
    context_wait(context);
    streams_delete_all(context);
    images_delete_all(context);
    free_ranges_of(context);
    context->lost = CUDA_SUCCESS;
    context->peers = 0;
    memcpy(context->limits, default_limits, sizeof default_limits);
    if (!reset || !retained) {
        primary[index] = NULL;
        context_delete(context);
    }
    return CUDA_SUCCESS;
}

static CUresult primary_set_flags(CUdevice index, unsigned flags)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    primary_flags[index] = flags;
    if (primary[index])
        primary[index]->flags = flags;
    return CUDA_SUCCESS;
}

static CUresult primary_state(CUdevice index, unsigned *flags, int *active)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !flags || !active)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *flags = primary_flags[index];
    *active = primary[index] != NULL;
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), primary_retain(pctx, dev))
ENTRY(NEED_INIT, cuDevicePrimaryCtxRelease, (CUdevice dev), primary_end(dev, false))
ENTRY(NEED_INIT, cuDevicePrimaryCtxRelease_v2, (CUdevice dev), primary_end(dev, false))
ENTRY(NEED_INIT | UNSAFE, cuDevicePrimaryCtxReset, (CUdevice dev), primary_end(dev, true))
ENTRY(NEED_INIT | UNSAFE, cuDevicePrimaryCtxReset_v2, (CUdevice dev), primary_end(dev, true))
ENTRY(NEED_INIT, cuDevicePrimaryCtxSetFlags, (CUdevice dev, unsigned flags), primary_set_flags(dev, flags))
ENTRY(NEED_INIT, cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned flags), primary_set_flags(dev, flags))
ENTRY(NEED_INIT, cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned *flags, int *active),
      primary_state(dev, flags, active))

static CUresult push(struct CUctx_st *context)
{
    if (!IS(context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.context_count == THREAD_CONTEXTS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_thread.contexts[sim_thread.context_count++] = context;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *ret_context)
{
    if (!sim_thread.context_count)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct CUctx_st *context = sim_thread.contexts[--sim_thread.context_count];
    if (ret_context)
        *ret_context = context;
    return CUDA_SUCCESS;
}

static CUresult set_current(struct CUctx_st *context)
{
    if (context && !IS(context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.context_count)
        sim_thread.context_count--;
    return context ? push(context) : CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *ret_context)
{
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_context = context_current();
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *ret_context, unsigned flags, CUdevice index)
{
    struct device *device;
    const CUresult result = context_device_index(index, &device);
    if (result || !ret_context || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    struct CUctx_st *context = context_new(device, flags);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ret_context = context;
    return push(context);
}

static CUresult destroy(struct CUctx_st *context)
{
    if (!IS(context, MAGIC_CONTEXT) || context->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    free_ranges_of(context);
    context_delete(context);
    if (context_current() == context)
        sim_thread.context_count--;
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuCtxCreate_v2, (CUcontext * pctx, unsigned flags, CUdevice dev), create(pctx, flags, dev))
ENTRY(NEED_INIT, cuCtxCreate_v3,
      (CUcontext * pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned flags, CUdevice dev),
      ((void)paramsArray, numParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(pctx, flags, dev)))
ENTRY(NEED_INIT, cuCtxCreate_v4, (CUcontext * pctx, CUctxCreateParams *ctxCreateParams, unsigned flags, CUdevice dev),
      ctxCreateParams && (ctxCreateParams->numExecAffinityParams || ctxCreateParams->cigParams)
          ? CUDA_ERROR_NOT_SUPPORTED
          : create(pctx, flags, dev))
ENTRY(NEED_INIT, cuCtxDestroy, (CUcontext ctx), destroy(ctx))
ENTRY(NEED_INIT, cuCtxDestroy_v2, (CUcontext ctx), destroy(ctx))
ENTRY(NEED_INIT, cuCtxPushCurrent, (CUcontext ctx), push(ctx))
ENTRY(NEED_INIT, cuCtxPushCurrent_v2, (CUcontext ctx), push(ctx))
ENTRY(NEED_INIT, cuCtxPopCurrent, (CUcontext * pctx), pop(pctx))
ENTRY(NEED_INIT, cuCtxPopCurrent_v2, (CUcontext * pctx), pop(pctx))
ENTRY(NEED_INIT, cuCtxSetCurrent, (CUcontext ctx), set_current(ctx))
ENTRY(NEED_INIT, cuCtxGetCurrent, (CUcontext * pctx), get_current(pctx))

static CUresult synchronize(struct CUctx_st *context)
{
    if (!IS(context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    for (struct CUstream_st *stream = context->streams; stream; stream = stream->next) {
        const CUresult result = stream_not_capturing(stream);
        if (result)
            return result;
    }
    context_wait(context);
    return context->lost;
}

ENTRY(NEED_CONTEXT, cuCtxSynchronize, (void), synchronize(context_current()))
ENTRY(NEED_CONTEXT, cuCtxSynchronize_v2, (CUcontext ctx), synchronize(ctx ? ctx : context_current()))

static CUresult get_device(CUdevice *device, struct CUctx_st *context)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!IS(context, MAGIC_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = (CUdevice)context->device->index;
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuCtxGetDevice, (CUdevice * device), get_device(device, context_current()))
ENTRY(NEED_INIT, cuCtxGetDevice_v2, (CUdevice * device, CUcontext ctx),
      get_device(device, ctx ? ctx : context_current()))

#define STORE(pointer, value) ((pointer) ? (*(pointer) = (value), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE)

static CUresult get_api_version(struct CUctx_st *context, unsigned *version)
{
    if (!context)
        context = context_current();
    return !IS(context, MAGIC_CONTEXT) ? CUDA_ERROR_INVALID_CONTEXT : STORE(version, context->api_version);
}

static CUresult get_id(struct CUctx_st *context, unsigned long long *id)
{
    if (!context)
        context = context_current();
    return !IS(context, MAGIC_CONTEXT) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : STORE(id, context->id);
}

static CUresult set_flags(unsigned flags)
{
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context_current()->flags = flags;
    return CUDA_SUCCESS;
}

static CUresult get_limit(size_t *value, CUlimit limit)
{
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return STORE(value, context_current()->limits[limit]);
}

static CUresult set_limit(CUlimit limit, size_t value)
{
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

static CUresult priority_range(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

ENTRY(NEED_INIT, cuCtxGetApiVersion, (CUcontext ctx, unsigned *version), get_api_version(ctx, version))
ENTRY(NEED_INIT, cuCtxGetId, (CUcontext ctx, unsigned long long *ctxId), get_id(ctx, ctxId))
ENTRY(NEED_CONTEXT, cuCtxGetFlags, (unsigned *flags), STORE(flags, context_current()->flags))
ENTRY(NEED_CONTEXT, cuCtxSetFlags, (unsigned flags), set_flags(flags))
ENTRY(NEED_CONTEXT, cuCtxGetLimit, (size_t * pvalue, CUlimit limit), get_limit(pvalue, limit))
ENTRY(NEED_CONTEXT, cuCtxSetLimit, (CUlimit limit, size_t value), set_limit(limit, value))
ENTRY(NEED_CONTEXT, cuCtxGetCacheConfig, (CUfunc_cache * pconfig), STORE(pconfig, context_current()->cache))
ENTRY(NEED_CONTEXT, cuCtxSetCacheConfig, (CUfunc_cache config), (context_current()->cache = config, CUDA_SUCCESS))
ENTRY(NEED_CONTEXT, cuCtxGetSharedMemConfig, (CUsharedconfig * pConfig),
      STORE(pConfig, context_current()->shared_config))
ENTRY(NEED_CONTEXT, cuCtxSetSharedMemConfig, (CUsharedconfig config),
      (context_current()->shared_config = config, CUDA_SUCCESS))
ENTRY(NEED_CONTEXT, cuCtxGetStreamPriorityRange, (int *leastPriority, int *greatestPriority),
      priority_range(leastPriority, greatestPriority))
ENTRY(NEED_CONTEXT, cuCtxResetPersistingL2Cache, (void), CUDA_SUCCESS)

static CUresult peer_access(struct CUctx_st *peer, bool enable)
{
    struct CUctx_st *context = context_current();
    if (!IS(peer, MAGIC_CONTEXT) || peer->device == context->device)
        return CUDA_ERROR_INVALID_CONTEXT;
    const unsigned bit = 1u << peer->device->index;
    if (!(context->peers & bit) != enable)
        return enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers ^= bit;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT, cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned Flags),
      Flags ? CUDA_ERROR_INVALID_VALUE : peer_access(peerContext, true))
ENTRY(NEED_CONTEXT, cuCtxDisablePeerAccess, (CUcontext peerContext), peer_access(peerContext, false))
