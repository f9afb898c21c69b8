// Version, error texts, memory, registration.
#include <stdlib.h>

#include "tests/simgpu/nccl/comm.h"

static ncclResult_t get_version(int *version)
{
    if (!version)
        return fail(ncclInvalidArgument, "no place for the version");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ENTRY(GetVersion, get_version, (int *version), (version))

static const char *error_string(ncclResult_t result)
{
    static const char *const texts[] = {"no error",
                                        "CUDA call failed",
                                        "system call failed",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or failed",
                                        "operation in progress"};
    return (unsigned)result < sizeof texts / sizeof *texts ? texts[result] : "unknown result";
}

#define TEXT_ENTRY(symbol, parameters, expression)                                                                     \
    const char *symbol parameters;                                                                                     \
    EXPORT const char *symbol parameters                                                                               \
    {                                                                                                                  \
        struct simgpu_call call;                                                                                       \
        const ncclResult_t injected = entry_begin(&call, #symbol, __builtin_return_address(0));                        \
        const char *text = expression;                                                                                 \
        entry_end(&call, injected);                                                                                    \
        return text;                                                                                                   \
    }
TEXT_ENTRY(ncclGetErrorString, (ncclResult_t result), error_string(result))
TEXT_ENTRY(pncclGetErrorString, (ncclResult_t result), error_string(result))
TEXT_ENTRY(ncclGetLastError, (ncclComm_t comm), ((void)comm, last_failure()))
TEXT_ENTRY(pncclGetLastError, (ncclComm_t comm), ((void)comm, last_failure()))

// There is no log whose level could be read again.
void ncclResetDebugInit(void);
void pncclResetDebugInit(void);
EXPORT void ncclResetDebugInit(void)
{
}
EXPORT void pncclResetDebugInit(void)
{
}

static ncclResult_t mem_alloc(void **ret_pointer, size_t size)
{
    CUdeviceptr pointer = 0;
    if (!ret_pointer || !size)
        return fail(ncclInvalidArgument, "a size and a place for the address");
    if (driver_get()->mem_alloc(&pointer, size))
        return fail(ncclUnhandledCudaError, "the memory could not be allocated");
    *ret_pointer = (void *)pointer;
    return ncclSuccess;
}

static ncclResult_t mem_free(void *pointer)
{
    return driver_get()->mem_free((CUdeviceptr)pointer) ? fail(ncclUnhandledCudaError, "the memory could not be freed")
                                                        : ncclSuccess;
}

ENTRY(MemAlloc, mem_alloc, (void **ptr, size_t size), (ptr, size))
ENTRY(MemFree, mem_free, (void *ptr), (ptr))

// Registered memory is used like any other: the handle stands for itself.
static ncclResult_t register_memory(ncclComm_t comm, void *buffer, size_t size, void **ret_handle)
{
    if (!comm_of(comm) || !buffer || !size || !ret_handle || !(*ret_handle = malloc(1)))
        return fail(ncclInvalidArgument, "a communicator, a buffer and a place for its handle");
    return ncclSuccess;
}

static ncclResult_t deregister_memory(ncclComm_t comm, void *handle)
{
    if (!comm_of(comm))
        return ncclInvalidArgument;
    free(handle);
    return ncclSuccess;
}

ENTRY(CommRegister, register_memory, (const ncclComm_t comm, void *buff, size_t size, void **handle),
      (comm, buff, size, handle))
ENTRY(CommDeregister, deregister_memory, (const ncclComm_t comm, void *handle), (comm, handle))
#if NCCL_VERSION_CODE >= 22700
ENTRY(CommWindowRegister, register_memory, (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags),
      (((void)winFlags, comm), buff, size, (void **)win))
ENTRY(CommWindowDeregister, deregister_memory, (ncclComm_t comm, ncclWindow_t win), (comm, (void *)win))
#endif
