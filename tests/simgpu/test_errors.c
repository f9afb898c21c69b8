// Arguments refused, faults injected, contexts lost to them, host functions that call the API, contexts and modules.
#include <string.h>

#include "tests/simgpu/test_support.h"

static CUstream stream;

static int start(void **state)
{
    (void)state;
    support_configure("fail cuMemAlloc_v2 3 CUDA_ERROR_OUT_OF_MEMORY\nfail cuStreamCre* 3 801\n"
                      "fail cuLaunchKernel 3 CUDA_ERROR_LAUNCH_FAILED\nfail cuEventCreate 2 700");
    return 0;
}

static void nothing_works_before_init(void **state)
{
    (void)state;
    int count;
    CUcontext context;
    const char *text;
    assert_int_equal(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    assert_int_equal(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &text));
    assert_string_equal(text, "CUDA_ERROR_NOT_INITIALIZED");
    OK(cuDriverGetVersion(&count));
    assert_int_equal(count, CUDA_VERSION);
    assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
}

static void context_is_needed(void **state)
{
    (void)state;
    CUdeviceptr memory;
    assert_int_equal(cuMemAlloc(&memory, 1), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext context;
    int active;
    unsigned flags;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void contexts_stack(void **state)
{
    (void)state;
    CUcontext first, second, current;
    CUevent event;
    CUstream own;
    OK(cuCtxGetCurrent(&first));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, second);
    OK(cuStreamCreate(&own, 0));
    OK(cuEventCreate(&event, 0));
    assert_int_equal(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE); // a stream of the other context
    OK(cuEventDestroy(event));
    OK(cuCtxDestroy(second));
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, first);
    assert_int_equal(cuStreamSynchronize(own), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuCtxDestroy(second), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPopCurrent(&current));
    assert_int_equal(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPushCurrent(first));
}

static void launches_are_checked(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction kernel;
    const char *text;
    assert_int_equal(cuModuleLoadData(&module, "nothing of the kind"), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(cuModuleLoad(&module, "no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one(\n)\n{ ret; }\n"
                                 ".visible .entry two() { ret; }\n"));
    unsigned count;
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 2);
    assert_int_equal(cuModuleGetFunction(&kernel, module, "three"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&kernel, module, "one"));
    OK(cuFuncGetName(&text, kernel));
    assert_string_equal(text, "one");
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    // The third launch, see `fail`.
    assert_int_equal(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_ERROR_LAUNCH_FAILED);
}

static void sticky_error_stays_until_reset(void **state)
{
    (void)state;
    CUdeviceptr memory;
    CUcontext context;
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuMemAlloc(&memory, 1), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    int count;
    OK(cuDeviceGetCount(&count));
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuCtxGetCurrent(&context));
    OK(cuCtxSynchronize());
    // The third creation fails, see `fail`, and only that.
    assert_int_equal(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void faults_are_counted(void **state)
{
    (void)state;
    // The calls above count: they arrived.
    CUdeviceptr memory;
    assert_int_equal(cuMemAlloc(&memory, 1), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(support_call("cuMemAlloc_v2").result, CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&memory, 1));
    OK(cuMemFree(memory));
    CUevent event;
    assert_int_equal(cuEventCreate(&event, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventCreate(&event, 0), CUDA_ERROR_ILLEGAL_ADDRESS); // sticky
    assert_int_equal(support_call("cuEventCreate").result, CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxReset(0));
}

static void call_the_api(void *result)
{
    CUdeviceptr memory;
    *(CUresult *)result = cuMemAlloc(&memory, 1);
}

static void host_functions_may_not_call(void **state)
{
    (void)state;
    CUresult result = CUDA_SUCCESS;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, call_the_api, &result));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(result, CUDA_ERROR_NOT_PERMITTED);
}

static void remember(CUstream of, CUresult status, void *seen)
{
    *(CUstream *)seen = status == CUDA_SUCCESS ? of : NULL;
}

static void callbacks_get_their_stream(void **state)
{
    (void)state;
    CUstream seen = NULL;
    OK(cuStreamAddCallback(stream, remember, &seen, 0));
    OK(cuStreamSynchronize(stream));
    assert_ptr_equal(seen, stream);
}

static void events_without_timing_have_no_times(void **state)
{
    (void)state;
    CUevent timed, untimed;
    float elapsed_ms;
    OK(cuEventCreate(&timed, 0));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    assert_int_equal(cuEventElapsedTime(&elapsed_ms, timed, timed), CUDA_ERROR_INVALID_HANDLE); // not recorded
    OK(cuEventRecord(timed, stream));
    OK(cuEventRecord(untimed, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(cuEventElapsedTime(&elapsed_ms, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(untimed));
    OK(cuEventDestroy(timed));
    assert_int_equal(cuEventDestroy(timed), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuEventQuery(timed), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuEventCreate(&timed, 1u << 10), CUDA_ERROR_INVALID_VALUE);
}

static void unsimulated_functions_say_so(void **state)
{
    (void)state;
    CUipcMemHandle handle;
    assert_int_equal(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(support_call("cuIpcGetMemHandle").result, CUDA_ERROR_NOT_SUPPORTED);
    const void *table = (void *)1;
    const CUuuid id = {{0}};
    assert_int_equal(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
}

static void attributes_and_occupancy(void **state)
{
    (void)state;
    int value, blocks, grid;
    char name[32], bus[16];
    CUdevice device;
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    assert_int_equal(value, 9);
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
        OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
    assert_int_equal(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetName(name, sizeof name, 0));
    assert_non_null(strstr(name, "Simulated"));
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cuDeviceGetByPCIBusId(&device, bus));
    assert_int_equal(device, 0);
    CUmodule module;
    CUfunction kernel;
    OK(cuModuleLoadData(&module, ".version 8.0\n.visible .entry k() { ret; }\n"));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    assert_int_equal(blocks, 8);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &blocks, kernel, NULL, 0, 0));
    assert_int_equal(blocks, 1024);
    assert_int_equal(grid, 2 * 132);
    assert_int_equal(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleUnload(module));
    assert_int_equal(cuModuleGetFunction(&kernel, module, "k"), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    // In this order: each goes on from where the one before it left the process.
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_before_init),
        cmocka_unit_test(context_is_needed),
        cmocka_unit_test(contexts_stack),
        cmocka_unit_test(launches_are_checked),
        cmocka_unit_test(sticky_error_stays_until_reset),
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(host_functions_may_not_call),
        cmocka_unit_test(callbacks_get_their_stream),
        cmocka_unit_test(events_without_timing_have_no_times),
        cmocka_unit_test(unsimulated_functions_say_so),
        cmocka_unit_test(attributes_and_occupancy),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
