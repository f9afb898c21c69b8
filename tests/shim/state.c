/*
 * state: prints what CUDA keeps for the program: its last error, the stack of contexts, the state of a capture, free
 * device memory, default devices and flags, after each of some things that a tool has to do with. It is the same with a
 * tool.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 20, DEPTH_MAX = 8 };

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device); // not in CUDA 13's headers

static CUcontext made;

static const char *name_of(CUcontext context, CUcontext primary)
{
    return !context ? "none" : context == primary ? "primary" : context == made ? "made" : "another";
}

static void print_contexts(void)
{
    CUcontext primary = NULL, current = NULL, popped[DEPTH_MAX];
    CUdevice device;
    int depth = 0;

    cuDevicePrimaryCtxRetain(&primary, 0);
    cuCtxGetCurrent(&current);
    printf(" current %s, stack", name_of(current, primary));
    while (depth < DEPTH_MAX && cuCtxPopCurrent(&popped[depth]) == CUDA_SUCCESS)
        printf(" %s", name_of(popped[depth++], primary));
    while (depth > 0)
        cuCtxPushCurrent(popped[--depth]);
    cuDevicePrimaryCtxRelease(0);
    printf(", device %d", cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1);
}

static void print_state(const char *when, CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    size_t free_bytes = 0, all_bytes = 0;
    cudaError_t last = cudaPeekAtLastError();
    int flags = -1;
    int capture_error = stream ? cuStreamIsCapturing(stream, &capture) : 0;

    printf("%s: last error %d,", when, last);
    print_contexts();
    if (capture == CU_STREAM_CAPTURE_STATUS_NONE)
        cuMemGetInfo(&free_bytes, &all_bytes);
    cuCtxGetFlags((unsigned *)&flags);
    printf(", capture %d %d, free %zu of %zu, flags %x, last error %d\n", capture_error, capture, free_bytes, all_bytes,
           (unsigned)flags, cudaPeekAtLastError());
}

int main(void)
{
    CUstream stream = NULL;
    CUgraph graph = NULL;
    void *memory = NULL, *host = malloc(BYTES);
    int device;

    print_state("before all", NULL);
    cudaMalloc(&memory, BYTES);
    print_state("allocated", NULL);
    cudaMemcpy(memory, host, BYTES, cudaMemcpyHostToDevice);
    cudaSetDevice(99);
    print_state("after an error", NULL);
    cudaMemsetAsync(memory, 0, BYTES, 0);
    cudaStreamSynchronize(0);
    print_state("after work after an error", NULL);
    cudaGetLastError();

    cuCtxCreate_v2(&made, CU_CTX_SCHED_YIELD, 0);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    print_state("in a context of its own", stream);
    CUdeviceptr own;
    cuMemAlloc(&own, BYTES);
    cuMemsetD8Async(own, 1, BYTES, stream);
    cuStreamSynchronize(stream);
    print_state("after work in it", stream);

    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cuMemsetD8Async(own, 2, BYTES, stream);
    print_state("capturing", stream);
    printf("captured: %d\n", cuStreamEndCapture(stream, &graph));
    print_state("after a capture", stream);
    cuGraphDestroy(graph);

    cuCtxPopCurrent(NULL);
    print_state("back", NULL);
    cuCtxDestroy(made);
    print_state("without it", NULL);
    cudaDeviceReset();
    printf("device after a reset: %d", cudaGetDevice(&device));
    printf(" %d\n", device);
    print_state("after a reset", NULL);
    cudaMalloc(&memory, BYTES);
    cudaMemset(memory, 0, BYTES);
    print_state("and work after it", NULL);
    free(host);
    return 0;
}
