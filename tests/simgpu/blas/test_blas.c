// The simulated cuBLAS: what its products cost, how its functions fail, and that it follows streams and captures.
#include "tests/simgpu/test_support.h"

#include <cublasLt.h>
#include <cublas_api.h>
#include <string.h>

#define DONE(expression) assert_int_equal(expression, CUBLAS_STATUS_SUCCESS)

static CUstream stream;
static cublasHandle_t handle;
static const float one = 1, none = 0;

static int start(void **state)
{
    (void)state;
    support_start("flops_per_s 100e12\nbytes_per_s 1e12\nkernel_base_ns 1000\nsms 64\nkernel gemvNSP_kernel 12345");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DONE(cublasCreate_v2(&handle));
    DONE(cublasSetStream_v2(handle, stream));
    return 0;
}

static uint64_t latest_ns(const char *begin)
{
    OK(cuStreamSynchronize(stream));
    const struct logged_op op = support_op("=kernel");
    assert_memory_equal(op.name, begin, strlen(begin));
    return op.end_ns - op.start_ns;
}

static void a_product_takes_its_operations_at_the_rate_of_its_type(void **state)
{
    (void)state;
    // 1024^3 multiply-adds: 21.47 us at 100e12 a second, in 64 tiles of 128, all of the device.
    const double half_ns = 2 * 1024. * 1024 * 1024 / 100e12 * 1e9;
    DONE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 1024, 1024, 1024, &one, NULL, CUDA_R_16F, 1024, NULL,
                      CUDA_R_16F, 1024, &none, NULL, CUDA_R_16F, 1024, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    assert_int_equal(latest_ns("nvjet_hsh_128x128_"), (uint64_t)(1000 + half_ns));
    DONE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1024, 1024, 1024, &one, NULL, 1024, NULL, 1024, &none, NULL,
                        1024));
    assert_in_range(latest_ns("sm80_xmma_gemm_f32f32_f32_"), (uint64_t)(1000 + 15 * half_ns) - 1,
                    (uint64_t)(1000 + 15 * half_ns) + 1);
    DONE(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    DONE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1024, 1024, 1024, &one, NULL, 1024, NULL, 1024, &none, NULL,
                        1024));
    assert_int_equal(latest_ns("sm80_xmma_gemm_f32f32_tf32_"), (uint64_t)(1000 + 2 * half_ns));
    DONE(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
}

static void a_thin_product_is_limited_by_memory(void **state)
{
    (void)state;
    // 4096 by 4096 times one vector: 33.6 MB are read, the arithmetic is nothing; 64 tiles.
    const double bytes = 2 * (4096. * 4096 + 4096 + 4096);
    DONE(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 4096, 1, 4096, &one, NULL, CUDA_R_16BF, 4096, 0,
                                    NULL, CUDA_R_16BF, 4096, 0, &none, NULL, CUDA_R_16BF, 4096, 0, 1,
                                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    assert_int_equal(latest_ns("nvjet_tst_64x64_"), (uint64_t)(1000 + bytes / 1e12 * 1e9));
    DONE(cublasSgemv_v2(handle, CUBLAS_OP_N, 100, 100, &one, NULL, 100, NULL, 1, &none, NULL, 1));
    assert_int_equal(latest_ns("gemvNSP_kernel"), 12345); // as the configuration says
}

static void an_empty_product_launches_nothing(void **state)
{
    (void)state;
    const unsigned before = support_op_count("=kernel");
    DONE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 5, 5, &one, NULL, 1, NULL, 5, &none, NULL, 1));
    assert_int_equal(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 5, 5, &one, NULL, 1, NULL, 5, &none, NULL, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 5, 5, &one, NULL, 1, NULL, 5, &none, NULL, 1),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(support_op_count("=kernel"), before);
}

static void a_result_for_the_host_is_waited_for(void **state)
{
    (void)state;
    float result = 5;
    support_spin("before", 1, 300000, stream);
    DONE(cublasSdot_v2(handle, 1000, NULL, 1, NULL, 1, &result));
    OK(cuStreamQuery(stream));
    assert_true(result == 0);
    result = 5;
    DONE(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
    support_close_gate(stream);
    DONE(cublasSdot_v2(handle, 1000, NULL, 1, NULL, 1, &result));
    assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    support_open_gate();
    OK(cuStreamSynchronize(stream));
    assert_true(result == 5);
    DONE(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST));
}

static cublasStatus_t half_product(void)
{
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 300, 300, 3000, &one, NULL, CUDA_R_16F, 300, NULL, CUDA_R_16F,
                        300, &none, NULL, CUDA_R_16F, 300, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static void a_captured_product_keeps_its_duration(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec executable;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    DONE(half_product());
    OK(cuStreamEndCapture(stream, &graph));
    const unsigned before = support_op_count("=kernel");
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphLaunch(executable, stream));
    const uint64_t replayed_ns = latest_ns("nvjet_hsh_");
    assert_int_equal(support_op_count("=kernel"), before + 1);
    DONE(half_product());
    assert_int_equal(latest_ns("nvjet_hsh_"), replayed_ns);
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
}

static void light_products_follow_their_descriptors(void **state)
{
    (void)state;
    const cublasLtHandle_t light = (cublasLtHandle_t)handle; // as documented
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = -1;
    const int transposed = CUBLAS_OP_T;
    const uint32_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    const int32_t batch = 3;
    DONE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    DONE(cublasLtMatmulPreferenceCreate(&preference));
    DONE(cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, 512, 1024, 512));
    DONE(cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, 512, 1024, 512));
    DONE(cublasLtMatrixLayoutCreate(&d, CUDA_R_16F, 1024, 1024, 1024));
    DONE(cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    assert_int_equal(
        cublasLtMatmulAlgoGetHeuristic(light, operation, a, b, d, d, preference, 1, &found, &count), // 1024 against 512
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(count, 0);
    DONE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    DONE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    DONE(cublasLtMatmulAlgoGetHeuristic(light, operation, a, b, d, d, preference, 1, &found, &count));
    assert_int_equal(count, 1);
    DONE(cublasLtMatmul(light, operation, &one, NULL, a, NULL, b, &none, NULL, d, NULL, d, &found.algo, NULL, 0,
                        stream));
    assert_int_equal(latest_ns("nvjet_hsh_128x128_64x4_1x2_h_bz_bias_TNN"),
                     (uint64_t)(1000 + 3 * 2 * 1024. * 1024 * 512 / 100e12 * 1e9));
    DONE(cublasLtMatrixLayoutDestroy(a));
    DONE(cublasLtMatrixLayoutDestroy(b));
    DONE(cublasLtMatrixLayoutDestroy(d));
    DONE(cublasLtMatmulDescDestroy(operation));
    DONE(cublasLtMatmulPreferenceDestroy(preference));
}

static void solutions_take_their_operations_and_succeed(void **state)
{
    (void)state;
    int infos[2] = {7, 7}, on_host = 7;
    CUdeviceptr info;
    // A triangle of 512 from the right, 1024 rows: 512 * 512 * 1024 operations at a fifteenth of the rate.
    DONE(cublasStrsm_v2(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1024, 512,
                        &one, NULL, 512, NULL, 1024));
    const double ns = 1000 + 512. * 512 * 1024 / (100e12 / 15) * 1e9;
    assert_in_range(latest_ns("trsm_kernel"), (uint64_t)ns - 1, (uint64_t)ns + 1);
    OK(cuMemAlloc_v2(&info, sizeof infos));
    OK(cuMemcpyHtoD_v2(info, infos, sizeof infos));
    DONE(cublasDgetrfBatched(handle, 16, NULL, 16, NULL, (int *)info, 1));
    latest_ns("getrf_batched_kernel");
    OK(cuMemcpyDtoH_v2(infos, info, sizeof infos));
    assert_int_equal(infos[0], 0);
    assert_int_equal(infos[1], 7);
    DONE(cublasSgeqrfBatched(handle, 32, 16, NULL, 32, NULL, &on_host, 1));
    assert_int_equal(on_host, 0);
    latest_ns("geqrf_batched_kernel");
    OK(cuMemFree_v2(info));
}

static void handles_are_checked(void **state)
{
    (void)state;
    cublasLtHandle_t light;
    DONE(cublasLtCreate(&light));
    assert_int_equal(cublasLtCreate(NULL), CUBLAS_STATUS_INVALID_VALUE);
    DONE(cublasLtDestroy(light));
    assert_int_equal(cublasLtDestroy(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
}

static void what_is_not_simulated_says_so(void **state)
{
    (void)state;
    assert_int_equal(cublasSsyrk_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 1, 1, &one, NULL, 1, &none, NULL, 1),
                     CUBLAS_STATUS_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_takes_its_operations_at_the_rate_of_its_type),
        cmocka_unit_test(a_thin_product_is_limited_by_memory),
        cmocka_unit_test(an_empty_product_launches_nothing),
        cmocka_unit_test(a_result_for_the_host_is_waited_for),
        cmocka_unit_test(a_captured_product_keeps_its_duration),
        cmocka_unit_test(light_products_follow_their_descriptors),
        cmocka_unit_test(solutions_take_their_operations_and_succeed),
        cmocka_unit_test(handles_are_checked),
        cmocka_unit_test(what_is_not_simulated_says_so),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
