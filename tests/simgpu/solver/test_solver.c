// The simulated cuSOLVER: what a factorization costs, what it says of itself, and what is refused.
#include "tests/simgpu/test_support.h"

#include <cusolverDn.h>

#define DONE(expression) assert_int_equal(expression, CUSOLVER_STATUS_SUCCESS)

static CUstream stream;
static cusolverDnHandle_t handle;

static int start(void **state)
{
    (void)state;
    support_start("flops_per_s 15e12\nbytes_per_s 100e12\nkernel_base_ns 1000\nsms 64");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DONE(cusolverDnCreate(&handle));
    DONE(cusolverDnSetStream(handle, stream));
    return 0;
}

// At a fifteenth of the rate of tensor cores.
static void the_latest_took(const char *name, double flops)
{
    OK(cuStreamSynchronize(stream));
    const struct logged_op op = support_op("=kernel");
    const uint64_t ns = (uint64_t)(1000 + flops / 1e12 * 1e9);
    assert_string_equal(op.name, name);
    assert_in_range(op.end_ns - op.start_ns, ns - 1, ns + 1);
}

static void factorizations_take_their_operations_and_succeed(void **state)
{
    (void)state;
    const int n = 1024;
    const double cube = 1024. * 1024 * 1024;
    int elements = 0, infos[3] = {7, 7, 7};
    size_t device_bytes = 0, host_bytes = 1;
    CUdeviceptr info;
    OK(cuMemAlloc_v2(&info, sizeof infos));
    OK(cuMemcpyHtoD_v2(info, infos, sizeof infos));
    DONE(cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, NULL, n, &elements));
    assert_true(elements >= n);
    DONE(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, n, NULL, n, NULL, elements, (int *)info));
    the_latest_took("cusolver_potrf", cube / 3);
    OK(cuMemcpyDtoH_v2(infos, info, sizeof infos));
    assert_int_equal(infos[0], 0);
    assert_int_equal(infos[1], 7); // of one problem only
    DONE(cusolverDnZgetrf(handle, n, n, NULL, n, NULL, NULL, (int *)info));
    the_latest_took("cusolver_getrf", cube * 2 / 3 * 4 * 2); // complex, and double at half the rate
    DONE(cusolverDnCheevjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, NULL, n, NULL, NULL, 0,
                                 (int *)info, NULL, 2));
    the_latest_took("cusolver_syevj_batched", 9 * cube * 4 * 2);
    OK(cuMemcpyDtoH_v2(infos, info, sizeof infos));
    assert_int_equal(infos[1], 0);
    assert_int_equal(infos[2], 7);
    DONE(cusolverDnXgeqrf_bufferSize(handle, NULL, 2 * n, n, CUDA_R_64F, NULL, n, CUDA_R_64F, NULL, CUDA_R_64F,
                                     &device_bytes, &host_bytes));
    assert_true(device_bytes >= 2u * 8 * n && host_bytes == 0);
    DONE(cusolverDnXgeqrf(handle, NULL, 2 * n, n, CUDA_R_32F, NULL, n, CUDA_R_32F, NULL, CUDA_R_32F, NULL, 0, NULL, 0,
                          (int *)info));
    the_latest_took("cusolver_geqrf", 4 * cube - cube * 2 / 3);
    DONE(cusolverDnSorgqr(handle, 2 * n, n, n, NULL, n, NULL, NULL, 0, (int *)info));
    the_latest_took("cusolver_orgqr", 8 * cube - 6 * cube + cube * 4 / 3);
    OK(cuMemFree_v2(info));
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    cudaStream_t same = NULL;
    DONE(cusolverDnGetStream(handle, &same));
    assert_ptr_equal(same, stream);
    assert_int_equal(cusolverDnSgetrf(NULL, 1, 1, NULL, 1, NULL, NULL, NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
    assert_int_equal(cusolverDnXpotrf(handle, NULL, CUBLAS_FILL_MODE_LOWER, 1, CUDA_R_16F, NULL, 1, CUDA_R_16F, NULL, 0,
                                      NULL, 0, NULL),
                     CUSOLVER_STATUS_NOT_SUPPORTED);
    assert_int_equal(cusolverDnSpotri(handle, CUBLAS_FILL_MODE_LOWER, 1, NULL, 1, NULL, 0, NULL),
                     CUSOLVER_STATUS_NOT_SUPPORTED); // not simulated
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factorizations_take_their_operations_and_succeed),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
