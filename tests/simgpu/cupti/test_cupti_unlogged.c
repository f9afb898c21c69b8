// Calls' records in a process without a truth log: the driver reads no clock for itself then, so CUPTI has to.
#include <cuda.h>
#include <cupti.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#define OK(expression) assert_int_equal(expression, 0)

static _Alignas(8) uint8_t buffer[1 << 16];
static CUpti_ActivityAPI call;
static unsigned calls;

static void request(uint8_t **memory, size_t *bytes, size_t *most)
{
    *memory = buffer;
    *bytes = sizeof buffer;
    *most = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *memory, size_t bytes, size_t valid)
{
    (void)context;
    (void)stream;
    (void)bytes;
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(memory, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_DRIVER)
            continue;
        call = *(CUpti_ActivityAPI *)(void *)record;
        calls++;
    }
}

static void a_call_has_begin_and_end(void **state)
{
    (void)state;
    CUdevice device;
    CUcontext context;
    uint64_t before, after;
    setenv("SIMGPU_CONFIG", "/dev/null", 1);
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuptiActivityRegisterCallbacks(request, complete));
    OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 1));
    OK(cuptiGetTimestamp(&before));
    OK(cuCtxSynchronize());
    OK(cuptiGetTimestamp(&after));
    OK(cuptiActivityFlushAll(0));
    assert_int_equal(calls, 1);
    assert_int_equal(call.cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
    assert_true(before < call.start && call.start < call.end && call.end < after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_has_begin_and_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
