// Handles of cuDNN. The declarations are those of cuDNN's public headers, which need not be there to build this.
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

// The newest that frameworks of today ask for.
#define DNN_MAJOR 9
#define DNN_MINOR 26
#define DNN_PATCH 0

typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_ALLOC_FAILED = 4005,
} cudnnStatus_t;

typedef struct cudnnContext {
    cudaStream_t stream;
} * cudnnHandle_t;

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId);
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId);
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value);
size_t cudnnGetVersion(void);
size_t cudnnGetCudartVersion(void);
const char *cudnnGetErrorString(cudnnStatus_t status);
void cudnnGetLastErrorString(char *message, size_t max_size);

EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM;
    struct cudnnContext *created = calloc(1, sizeof *created);
    if (!created)
        return CUDNN_STATUS_ALLOC_FAILED;
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
        return handle ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_INITIALIZED;
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
    return CUDART_VERSION;
}

EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_ALLOC_FAILED:
        return "CUDNN_STATUS_ALLOC_FAILED";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED: the simulated cuDNN has handles only";
    }
    return "unknown status";
}

EXPORT void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (message && max_size)
        message[0] = '\0';
}
