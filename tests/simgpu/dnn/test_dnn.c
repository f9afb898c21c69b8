// The simulated cuDNN: what its convolutions and normalizations cost, through graphs and without, and how it refuses.
#include "tests/simgpu/test_support.h"

#include <cudnn.h>
#include <stdbool.h>
#include <string.h>

#define DONE(expression) assert_int_equal(expression, CUDNN_STATUS_SUCCESS)

enum { BATCH = 32, CHANNELS = 64, FILTERS = 128, PLACES = 56, WIDTH = 3 };

static const double flops = 2. * BATCH * FILTERS * PLACES * PLACES * CHANNELS * WIDTH * WIDTH;
static const int64_t x_sizes[] = {BATCH, CHANNELS, PLACES, PLACES}, w_sizes[] = {FILTERS, CHANNELS, WIDTH, WIDTH},
                     y_sizes[] = {BATCH, FILTERS, PLACES, PLACES};
static CUstream stream;
static cudnnHandle_t handle;

static int start(void **state)
{
    (void)state;
    support_start("flops_per_s 100e12\nbytes_per_s 1e12\nkernel_base_ns 1000\nsms 64");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DONE(cudnnCreate(&handle));
    DONE(cudnnSetStream(handle, stream));
    return 0;
}

static void the_latest_took(const char *begin, double ns)
{
    OK(cuStreamSynchronize(stream));
    const struct logged_op op = support_op("=kernel");
    assert_memory_equal(op.name, begin, strlen(begin));
    assert_in_range(op.end_ns - op.start_ns, (uint64_t)(1000 + ns) - 1, (uint64_t)(1000 + ns) + 1);
}

static cudnnBackendDescriptor_t created(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t descriptor;
    DONE(cudnnBackendCreateDescriptor(type, &descriptor));
    return descriptor;
}

static void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t count, const void *elements)
{
    DONE(cudnnBackendSetAttribute(descriptor, name, type, count, elements));
}

// Sets an attribute to a descriptor, which lives on by that only.
static void give(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t child)
{
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
    DONE(cudnnBackendDestroyDescriptor(child));
}

static cudnnBackendDescriptor_t tensor(int64_t id, const int64_t sizes[4], bool is_virtual)
{
    const cudnnDataType_t type = CUDNN_DATA_HALF;
    const cudnnBackendDescriptor_t made = created(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes);
    set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    DONE(cudnnBackendFinalize(made));
    return made;
}

// A convolution whose result is virtual, and a pointwise operation that reads it and writes memory.
static cudnnBackendDescriptor_t fused_graph(void)
{
    const cudnnBackendDescriptor_t operations[] = {created(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
                                                   created(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)};
    give(operations[0], CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(1, x_sizes, false));
    give(operations[0], CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(2, w_sizes, false));
    give(operations[0], CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor(3, y_sizes, true));
    give(operations[1], CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(3, y_sizes, true));
    give(operations[1], CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(4, y_sizes, false));
    const cudnnBackendDescriptor_t graph = created(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, operations);
    DONE(cudnnBackendFinalize(graph));
    for (size_t i = 0; i < 2; i++)
        DONE(cudnnBackendDestroyDescriptor(operations[i]));
    return graph;
}

static cudnnBackendDescriptor_t plan_of(cudnnBackendDescriptor_t graph)
{
    int64_t count = 0, workspace = -1, notes = -1;
    const cudnnBackendDescriptor_t heuristics = created(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
                                   plan = created(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
                                   engine = created(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t configuration = created(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    give(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    DONE(cudnnBackendFinalize(heuristics));
    DONE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                  NULL));
    assert_int_equal(count, 1);
    DONE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                  &configuration));
    DONE(cudnnBackendDestroyDescriptor(heuristics));
    DONE(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                  (void *)&engine));
    DONE(
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 0, &notes, NULL));
    assert_int_equal(notes, 0);
    DONE(cudnnBackendDestroyDescriptor(engine));
    give(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    DONE(cudnnBackendFinalize(plan));
    DONE(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                  &workspace));
    assert_int_equal(workspace, 0);
    return plan;
}

static void a_graph_is_one_kernel_of_its_arithmetic(void **state)
{
    (void)state;
    const cudnnBackendDescriptor_t plan = plan_of(fused_graph()), pack = created(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    assert_int_equal(cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    DONE(cudnnBackendFinalize(pack));
    const unsigned before = support_op_count("=kernel");
    DONE(cudnnBackendExecute(handle, plan, pack));
    the_latest_took("sm80_xmma_fprop_implicit_gemm_f16f16", flops / 100e12 * 1e9);
    assert_int_equal(support_op_count("=kernel"), before + 1);
    DONE(cudnnBackendDestroyDescriptor(plan));
    DONE(cudnnBackendDestroyDescriptor(pack));
}

static void a_graph_without_arithmetic_moves_its_tensors(void **state)
{
    (void)state;
    const cudnnBackendDescriptor_t operation = created(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR),
                                   graph = created(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
                                   pack = created(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(1, y_sizes, false));
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(1, y_sizes, false)); // the same, read once
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(2, y_sizes, false));
    give(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    DONE(cudnnBackendFinalize(graph));
    DONE(cudnnBackendFinalize(pack));
    const cudnnBackendDescriptor_t plan = plan_of(graph);
    DONE(cudnnBackendExecute(handle, plan, pack));
    the_latest_took("cudnn_generated", 2 * 2. * BATCH * FILTERS * PLACES * PLACES / 1e12 * 1e9);
    DONE(cudnnBackendDestroyDescriptor(plan));
    DONE(cudnnBackendDestroyDescriptor(pack));
}

static void attention_is_two_products(void **state)
{
    (void)state;
    const int64_t sizes[] = {8, 16, 512, 64};
    const cudnnBackendDescriptor_t operation = created(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR),
                                   graph = created(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
                                   pack = created(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    give(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor(1, sizes, false));
    give(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor(2, sizes, false));
    give(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor(3, sizes, false));
    give(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor(4, sizes, false));
    give(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    DONE(cudnnBackendFinalize(graph));
    DONE(cudnnBackendFinalize(pack));
    const cudnnBackendDescriptor_t plan = plan_of(graph);
    DONE(cudnnBackendExecute(handle, plan, pack));
    the_latest_took("cudnn_generated_fort_native_sdpa", 2 * 2. * 8 * 16 * 512 * 512 * 64 / 100e12 * 1e9);
    DONE(cudnnBackendDestroyDescriptor(plan));
    DONE(cudnnBackendDestroyDescriptor(pack));
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    int64_t count;
    const cudnnBackendDescriptor_t operation = created(CUDNN_BACKEND_OPERATION_SIGNAL_DESCRIPTOR),
                                   graph = created(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    assert_int_equal(cudnnBackendFinalize(graph), CUDNN_STATUS_BAD_PARAM); // no operations
    give(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    assert_int_equal(cudnnBackendFinalize(graph), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
    assert_int_equal(
        cudnnBackendGetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, NULL),
        CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    DONE(cudnnBackendDestroyDescriptor(graph));
    assert_int_equal(cudnnBackendFinalize(NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    assert_int_equal(
        cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, NULL, NULL, NULL, NULL, NULL, NULL),
        CUDNN_STATUS_NOT_SUPPORTED);
}

static void convolutions_without_graphs_cost_the_same(void **state)
{
    (void)state;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t convolution;
    const float one = 1, none = 0;
    size_t bytes = 1;
    int returned = 0;
    cudnnConvolutionFwdAlgoPerf_t found;
    DONE(cudnnCreateTensorDescriptor(&x));
    DONE(cudnnCreateTensorDescriptor(&y));
    DONE(cudnnCreateFilterDescriptor(&w));
    DONE(cudnnCreateConvolutionDescriptor(&convolution));
    DONE(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, BATCH, CHANNELS, PLACES, PLACES));
    DONE(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, BATCH, FILTERS, PLACES, PLACES));
    DONE(cudnnSetFilterNdDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 4,
                                    (int[]){FILTERS, CHANNELS, WIDTH, WIDTH}));
    DONE(cudnnSetConvolutionNdDescriptor(convolution, 2, (int[]){1, 1}, (int[]){1, 1}, (int[]){1, 1},
                                         CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    DONE(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, convolution, y, 1, &returned, &found));
    assert_int_equal(returned, 1);
    DONE(cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, convolution, y, found.algo, &bytes));
    assert_int_equal(bytes, 0);
    const double tf32_ns = 2 * flops / 100e12 * 1e9; // at half the rate
    DONE(cudnnConvolutionForward(handle, &one, x, NULL, w, NULL, convolution, found.algo, NULL, 0, &none, y, NULL));
    the_latest_took("sm80_xmma_fprop_implicit_gemm_tf32f32", tf32_ns);
    DONE(cudnnConvolutionBackwardData(handle, &one, w, NULL, y, NULL, convolution, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                                      NULL, 0, &none, x, NULL));
    the_latest_took("sm80_xmma_dgrad_implicit_gemm_tf32f32", tf32_ns);
    // The gradient of the filters has few rows and columns: 1 by 4.5 tiles, an eighth of the device at least.
    DONE(cudnnConvolutionBackwardFilter(handle, &one, x, NULL, y, NULL, convolution,
                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0, &none, w, NULL));
    the_latest_took("sm80_xmma_wgrad_implicit_gemm_tf32f32", 8 * tf32_ns);
    assert_int_equal(
        cudnnConvolutionForward(handle, &one, y, NULL, w, NULL, convolution, found.algo, NULL, 0, &none, x, NULL),
        CUDNN_STATUS_BAD_PARAM); // y has as many channels as there are filters, x has not
    const double tensor_bytes = 4. * BATCH * FILTERS * PLACES * PLACES;
    DONE(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &none, y, NULL, y, NULL, NULL,
                                                 NULL, NULL, NULL, NULL, 1e-5));
    the_latest_took("cudnn::bn_fw_inf", 2 * tensor_bytes / 1e12 * 1e9);
    DONE(cudnnDestroyConvolutionDescriptor(convolution));
    DONE(cudnnDestroyFilterDescriptor(w));
    DONE(cudnnDestroyTensorDescriptor(x));
    DONE(cudnnDestroyTensorDescriptor(y));
}

static void handles_have_streams(void **state)
{
    (void)state;
    cudnnHandle_t other;
    cudaStream_t found = NULL;
    DONE(cudnnCreate(&other));
    DONE(cudnnSetStream(other, stream));
    DONE(cudnnGetStream(other, &found));
    assert_ptr_equal(found, stream);
    DONE(cudnnDestroy(other));
    assert_int_equal(cudnnDestroy(NULL), CUDNN_STATUS_NOT_INITIALIZED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_one_kernel_of_its_arithmetic),
        cmocka_unit_test(a_graph_without_arithmetic_moves_its_tensors),
        cmocka_unit_test(attention_is_two_products),
        cmocka_unit_test(what_is_unknown_is_refused),
        cmocka_unit_test(convolutions_without_graphs_cost_the_same),
        cmocka_unit_test(handles_have_streams),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
