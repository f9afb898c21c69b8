// The simulated cuFFT: what a transform costs, and how plans that are none are refused.
#include "tests/simgpu/test_support.h"

#include <cufftXt.h>
#include <string.h>

#define DONE(expression) assert_int_equal(expression, CUFFT_SUCCESS)

static CUstream stream;

static int start(void **state)
{
    (void)state;
    support_start("flops_per_s 15e12\nbytes_per_s 100e12\nkernel_base_ns 1000\nsms 64");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static void the_latest_took(double ns)
{
    OK(cuStreamSynchronize(stream));
    const struct logged_op op = support_op("=kernel");
    assert_string_equal(op.name, "vector_fft");
    assert_in_range(op.end_ns - op.start_ns, (uint64_t)(1000 + ns) - 1, (uint64_t)(1000 + ns) + 1);
}

static void a_transform_takes_its_operations(void **state)
{
    (void)state;
    cufftHandle plan;
    size_t work_size = 0, same = 0;
    int sizes[] = {1024, 1024};
    long long long_sizes[] = {1024, 1024};
    const double ns = 5 * 1024. * 1024 * 20 * 4 / 1e12 * 1e9; // at a fifteenth of the rate of tensor cores
    DONE(cufftCreate(&plan));
    DONE(cufftSetStream(plan, stream));
    assert_int_equal(cufftExecC2C(plan, NULL, NULL, CUFFT_FORWARD), CUFFT_INVALID_PLAN); // not made
    DONE(cufftMakePlanMany(plan, 2, sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 4, &work_size));
    assert_int_equal(work_size, 8 * 1024 * 1024 * 4);
    DONE(cufftGetSize(plan, &same));
    assert_int_equal(same, work_size);
    DONE(cufftExecC2C(plan, NULL, NULL, CUFFT_FORWARD));
    the_latest_took(ns);
    DONE(cufftMakePlanMany64(plan, 2, long_sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 4, &same));
    assert_int_equal(same, work_size);
    DONE(cufftXtMakePlanMany(plan, 2, long_sizes, NULL, 1, 0, CUDA_R_32F, NULL, 1, 0, CUDA_C_32F, 4, &work_size,
                             CUDA_C_32F));
    DONE(cufftXtExec(plan, NULL, NULL, CUFFT_FORWARD));
    the_latest_took(ns / 2);
    DONE(cufftDestroy(plan));
}

static void what_is_no_plan_is_refused(void **state)
{
    (void)state;
    cufftHandle plan;
    long long none[] = {0};
    size_t work_size;
    DONE(cufftCreate(&plan));
    assert_int_equal(
        cufftXtMakePlanMany(plan, 1, none, NULL, 1, 0, CUDA_C_32F, NULL, 1, 0, CUDA_C_32F, 1, &work_size, CUDA_C_32F),
        CUFFT_INVALID_SIZE);
    assert_int_equal(
        cufftXtMakePlanMany(plan, 1, none, NULL, 1, 0, CUDA_C_16F, NULL, 1, 0, CUDA_C_16F, 1, &work_size, CUDA_C_16F),
        CUFFT_NOT_SUPPORTED);
    DONE(cufftDestroy(plan));
    assert_int_equal(cufftDestroy(plan), CUFFT_INVALID_PLAN);
    assert_int_equal(cufftSetStream(-1, NULL), CUFFT_INVALID_PLAN);
    assert_int_equal(cufftPlan1d(&plan, 16, CUFFT_C2C, 1), CUFFT_NOT_IMPLEMENTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transform_takes_its_operations),
        cmocka_unit_test(what_is_no_plan_is_refused),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
