// The real driver functions that the tool calls itself, with minimal prototypes (a handle is a word).
#ifndef GW_SHIM_TRACER_DRIVER_H
#define GW_SHIM_TRACER_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t gw_handle;

// symbol, argument list
#define GW_DRIVER_FUNCTIONS(F)                                                                                         \
    F(cuCtxGetCurrent, (gw_handle * context))                                                                          \
    F(cuCtxSetCurrent, (gw_handle context))                                                                            \
    F(cuCtxPushCurrent_v2, (gw_handle context))                                                                        \
    F(cuCtxPopCurrent_v2, (gw_handle * context))                                                                       \
    F(cuCtxGetDevice, (int *device))                                                                                   \
    F(cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))                                          \
    F(cuDeviceGetCount, (int *count))                                                                                  \
    F(cuDeviceGetName, (char *name, int size, int device))                                                             \
    F(cuDeviceGetUuid_v2, (unsigned char *uuid, int device))                                                           \
    F(cuDeviceGetPCIBusId, (char *id, int size, int device))                                                           \
    F(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                               \
    F(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    F(cuStreamGetCtx, (gw_handle stream, gw_handle * context))                                                         \
    F(cuStreamGetFlags, (gw_handle stream, unsigned *flags))                                                           \
    F(cuStreamIsCapturing, (gw_handle stream, int *status))                                                            \
    F(cuStreamIsCapturing_ptsz, (gw_handle stream, int *status))                                                       \
    F(cuStreamCreate, (gw_handle * stream, unsigned flags))                                                            \
    F(cuStreamDestroy_v2, (gw_handle stream))                                                                          \
    F(cuEventCreate, (gw_handle * event, unsigned flags))                                                              \
    F(cuEventDestroy_v2, (gw_handle event))                                                                            \
    F(cuEventRecord, (gw_handle event, gw_handle stream))                                                              \
    F(cuEventQuery, (gw_handle event))                                                                                 \
    F(cuEventElapsedTime, (float *milliseconds, gw_handle start, gw_handle end))                                       \
    F(cuThreadExchangeStreamCaptureMode, (int *mode))                                                                  \
    F(cuPointerGetAttribute, (void *value, int attribute, gw_handle pointer))                                          \
    F(cuMemHostGetFlags, (unsigned *flags, gw_handle pointer))                                                         \
    F(cuGraphGetNodes, (gw_handle graph, gw_handle * nodes, size_t * count))                                           \
    F(cuGraphNodeGetType, (gw_handle node, int *type))                                                                 \
    F(cuGraphChildGraphNodeGetGraph, (gw_handle node, gw_handle * graph))                                              \
    F(cuFuncGetName, (const char **name, gw_handle function))                                                          \
    F(cuKernelGetName, (const char **name, gw_handle kernel))

struct gw_driver {
#define GW_DRIVER_MEMBER(symbol, arguments) int(*symbol) arguments;
    GW_DRIVER_FUNCTIONS(GW_DRIVER_MEMBER)
#undef GW_DRIVER_MEMBER
};

// The functions, or NULL while no driver is loaded, in a forked child, or when the driver lacks one that nothing works
// without. Those that came with later drivers (cuFuncGetName, cuKernelGetName, cuStreamGetCtx …) may be NULL.
const struct gw_driver *gw_driver(void);

#endif
