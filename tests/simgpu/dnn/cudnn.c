// Handles, and what can be asked of the library.
#include "tests/simgpu/dnn/handle.h"

#include <library_types.h>
#include <stdlib.h>

// The newest that frameworks of today ask for, whichever headers this is built with.
#define DNN_MAJOR 9
#define DNN_MINOR 28
#define DNN_PATCH 0

EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (stand_in_load() != CUDA_SUCCESS)
        return CUDNN_STATUS_NOT_INITIALIZED;
    struct cudnnContext *created = calloc(1, sizeof *created);
    if (!created)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *handle = created;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUDNN_STATUS_NOT_INITIALIZED;
    handle->stream = streamId;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
    if (!handle || !streamId)
        return handle ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_NOT_INITIALIZED;
    *streamId = handle->stream;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    static const int parts[] = {[MAJOR_VERSION] = DNN_MAJOR, [MINOR_VERSION] = DNN_MINOR, [PATCH_LEVEL] = DNN_PATCH};
    if (!value || (unsigned)type >= sizeof parts / sizeof *parts)
        return CUDNN_STATUS_BAD_PARAM;
    *value = parts[type];
    return CUDNN_STATUS_SUCCESS;
}

EXPORT size_t cudnnGetVersion(void)
{
    return DNN_MAJOR * 10000 + DNN_MINOR * 100 + DNN_PATCH;
}

EXPORT size_t cudnnGetCudartVersion(void)
{
    return CUDA_VERSION;
}

EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch ((int)CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case 1000:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED: the simulated cuDNN does not have it";
    case CUDNN_STATUS_INTERNAL_ERROR:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return "unknown status";
    }
}

EXPORT void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (message && max_size)
        message[0] = '\0';
}

cudnnStatus_t handle_launch(cudnnHandle_t handle, const struct kernel *kernel)
{
    if (!handle)
        return CUDNN_STATUS_NOT_INITIALIZED;
    return stand_in_launch(kernel, handle->stream) == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS
                                                                   : CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
}

cudnnStatus_t handle_launch_bytes(cudnnHandle_t handle, const char *name, double bytes)
{
    return handle_launch(handle, &(struct kernel){.name = name,
                                                  .flops = 0,
                                                  .flops_factor = 1,
                                                  .bytes = bytes,
                                                  .blocks = bytes / BYTES_A_BLOCK,
                                                  .threads = 512});
}
