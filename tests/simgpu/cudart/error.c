/* Errors: names, texts and the thread's last one. */
#include "runtime.h"

struct error_text {
    int number;
    const char *name;
    const char *text;
};

static const struct error_text errors[] = {
#define RT_ERROR(number, name, text) {number, name, text},
#include "errors.def"
#undef RT_ERROR
};

static const struct error_text *find_error(cudaError_t error)
{
    static const struct error_text unknown = {-1, "unrecognized error code", "unrecognized error code"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].number == (int)error)
            return &errors[i];
    }
    return &unknown;
}

const char *cudaGetErrorName(cudaError_t error)
{
    struct simgpu_call call;
    rt_begin(&call, "cudaGetErrorName", __builtin_return_address(0), RT_NOTHING);
    rt_end(&call, cudaSuccess);
    return find_error(error)->name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    struct simgpu_call call;
    rt_begin(&call, "cudaGetErrorString", __builtin_return_address(0), RT_NOTHING);
    rt_end(&call, cudaSuccess);
    return find_error(error)->text;
}

/* These two return an error without failing, so the log gets the value and the last error is left alone. */
static cudaError_t answer(struct simgpu_call *call, cudaError_t error)
{
    if (rt_truth.end)
        rt_truth.end(call, error);
    return error;
}

cudaError_t cudaGetLastError(void)
{
    struct simgpu_call call;
    rt_begin(&call, "cudaGetLastError", __builtin_return_address(0), RT_NOTHING);
    cudaError_t error = rt_last_error();
    rt_clear_error(false);
    return answer(&call, error);
}

cudaError_t cudaPeekAtLastError(void)
{
    struct simgpu_call call;
    rt_begin(&call, "cudaPeekAtLastError", __builtin_return_address(0), RT_NOTHING);
    return answer(&call, rt_last_error());
}
