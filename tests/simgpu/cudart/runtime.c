/* Initialisation, the binding of threads to contexts, and each thread's last error. */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime.h"

struct thread_state {
    int device;
    unsigned bound_generation; /* of contexts: the thread is bound when it equals context_generation */
    cudaError_t last_error;
};

static _Thread_local struct thread_state thread;

/* Grows whenever a primary context is reset: handles bound earlier are void. Starts at 1, above every new thread's 0.
 */
static atomic_uint context_generation = 1;
static atomic_bool initialised;
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary_contexts[RT_DEVICES_MAX];

/* Set in the child of a process that had initialised the driver. There, locks may be held for ever by threads that the
 * child does not have, so that nothing below may be touched. */
static atomic_bool forked;

static void after_fork_in_child(void)
{
    atomic_store(&forked, true);
}

static void watch_for_fork(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

bool rt_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

static cudaError_t initialise(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (atomic_load_explicit(&initialised, memory_order_acquire))
        return cudaSuccess;
    CUresult result = DRV(cuInit)(0);
    if (result == CUDA_SUCCESS) {
        pthread_once(&once, watch_for_fork);
        atomic_store_explicit(&initialised, true, memory_order_release);
    }
    return (cudaError_t)result;
}

CUresult rt_primary_context(int device, CUcontext *ret_context)
{
    CUresult result = CUDA_SUCCESS;
    CUdevice handle;

    if (device < 0 || device >= RT_DEVICES_MAX)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&primary_lock);
    if (!primary_contexts[device]) {
        result = DRV(cuDeviceGet)(&handle, device);
        if (result != CUDA_SUCCESS)
            goto end;
        result = DRV(cuDevicePrimaryCtxRetain)(&primary_contexts[device], handle);
        if (result != CUDA_SUCCESS)
            goto end;
    }
    *ret_context = primary_contexts[device];
end:
    pthread_mutex_unlock(&primary_lock);
    return result;
}

CUresult rt_reset_device(int device)
{
    pthread_mutex_lock(&primary_lock);
    CUresult result = DRV(cuDevicePrimaryCtxReset)(device);
    primary_contexts[device] = NULL;
    atomic_fetch_add(&context_generation, 1);
    pthread_mutex_unlock(&primary_lock);
    return result;
}

static CUresult bind_primary(int device)
{
    CUcontext context;
    unsigned generation = atomic_load(&context_generation);
    CUresult result = rt_primary_context(device, &context);
    if (result == CUDA_SUCCESS)
        result = DRV(cuCtxSetCurrent)(context);
    if (result == CUDA_SUCCESS)
        thread.bound_generation = generation;
    return result;
}

static CUresult bind(void)
{
    unsigned generation = atomic_load_explicit(&context_generation, memory_order_acquire);
    if (thread.bound_generation == generation)
        return CUDA_SUCCESS;
    CUcontext current = NULL;
    CUresult result = DRV(cuCtxGetCurrent)(&current);
    if (result != CUDA_SUCCESS)
        return result;
    if (!current || thread.bound_generation)
        return bind_primary(thread.device);
    thread.bound_generation = generation;
    return CUDA_SUCCESS;
}

bool rt_rebind(void)
{
    CUcontext current = NULL;
    if (DRV(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || current)
        return false;
    return bind_primary(thread.device) == CUDA_SUCCESS;
}

int rt_device(void)
{
    CUcontext current = NULL;
    CUdevice device;
    /* A context that the program made current itself decides, too. */
    if (!thread.bound_generation && (DRV(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || !current))
        return thread.device;
    return DRV(cuCtxGetDevice)(&device) == CUDA_SUCCESS ? device : thread.device;
}

void rt_choose_device(int device)
{
    thread.device = device;
}

cudaError_t rt_set_device(int device)
{
    CUresult result = bind_primary(device);
    if (result == CUDA_SUCCESS)
        thread.device = device;
    return (cudaError_t)result;
}

cudaError_t rt_prepare(enum rt_need need)
{
    cudaError_t result = cudaSuccess;
    if (need == RT_NOTHING)
        return cudaSuccess;
    if (rt_forked())
        return cudaErrorInitializationError;
    if (!rt_driver_load())
        return cudaErrorInsufficientDriver;
    result = initialise();
    if (result == cudaSuccess && need == RT_CONTEXT)
        result = (cudaError_t)bind();
    return result;
}

cudaError_t rt_begin(struct simgpu_call *call, const char *name, const void *caller, enum rt_need need)
{
    cudaError_t result = cudaSuccess;
    /* Only opened so far: the look-ups belong to the call that needs them. */
    rt_driver_open();
    if (rt_truth.begin)
        result = (cudaError_t)rt_truth.begin(call, name, caller);
    return result == cudaSuccess ? rt_prepare(need) : result;
}

cudaError_t rt_end(struct simgpu_call *call, cudaError_t result)
{
    if (result != cudaSuccess)
        thread.last_error = result;
    if (rt_truth.end)
        rt_truth.end(call, result);
    return result;
}

/* The errors after which the documentation says that the process must be terminated and relaunched to use CUDA again.
 */
static bool is_sticky(cudaError_t error)
{
    switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

cudaError_t rt_last_error(void)
{
    return thread.last_error;
}

void rt_clear_error(bool even_sticky)
{
    if (even_sticky || !is_sticky(thread.last_error))
        thread.last_error = cudaSuccess;
}
