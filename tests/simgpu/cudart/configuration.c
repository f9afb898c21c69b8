/* The configuration of <<<…>>>: pushed by the launching expression, popped by the kernel's host stub. */
#include "runtime.h"

#define CONFIGURATION_DEPTH 16

struct configuration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
};

static _Thread_local struct configuration pending[CONFIGURATION_DEPTH];
static _Thread_local unsigned pending_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);

/* Returns 0, else the compiled expression skips the kernel. Nested pushes happen when an argument's constructor
 * launches. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
    if (pending_count == CONFIGURATION_DEPTH)
        return cudaErrorLaunchMaxDepthExceeded;
    pending[pending_count++] = (struct configuration){grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    if (pending_count == 0)
        return cudaErrorMissingConfiguration;
    const struct configuration *top = &pending[--pending_count];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}
