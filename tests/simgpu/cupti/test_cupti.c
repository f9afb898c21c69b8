// The simulated CUPTI against its documentation and the truth log.
#include <cupti.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cupti/profiler.h"
#include "tests/simgpu/test_support.h"

#define RECORDS 4096u
#define BUFFER_BYTES 4096u

// What came, in order of delivery.
static struct {
    pthread_mutex_t lock;
    CUpti_Activity *records[RECORDS];
    unsigned count;
    bool refuses;
    bool is_other_thread;
    pthread_t tester;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUstream stream;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = seen.refuses ? NULL : malloc(BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max = 0;
}

static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context, (void)stream_id, (void)size;
    pthread_mutex_lock(&seen.lock);
    seen.is_other_thread = !pthread_equal(pthread_self(), seen.tester);
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS && seen.count < RECORDS)
        seen.records[seen.count++] = record;
    pthread_mutex_unlock(&seen.lock); // the buffers are kept: records point into them
}

static int start(void **state)
{
    (void)state;
    support_start("fail cuptiGetVersion 2 35\nlaunch_latency_ns 1000");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    seen.tester = pthread_self();
    OK((CUresult)cuptiActivityRegisterCallbacks(request, complete));
    return 0;
}

static int forget(void **state)
{
    (void)state;
    OK(cuCtxSynchronize());
    OK((CUresult)cuptiActivityFlushAll(1));
    for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
        cuptiActivityDisable((CUpti_ActivityKind)kind);
    seen.count = 0;
    seen.refuses = false;
    return 0;
}

static unsigned count_of(CUpti_ActivityKind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < seen.count; i++)
        count += seen.records[i]->kind == kind;
    return count;
}

static void *latest(CUpti_ActivityKind kind)
{
    for (unsigned i = seen.count; i-- > 0;) {
        if (seen.records[i]->kind == kind)
            return seen.records[i];
    }
    fail_msg("no record of kind %d", (int)kind);
    return NULL;
}

static void flush(void)
{
    OK(cuStreamSynchronize(stream));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

static uint64_t now(void)
{
    uint64_t timestamp;
    assert_int_equal(cuptiGetTimestamp(&timestamp), CUPTI_SUCCESS);
    return timestamp;
}

static void kernels_copies_and_memsets_are_recorded(void **state)
{
    (void)state;
    CUdeviceptr memory;
    static char host[100000];
    OK(cuMemAlloc_v2(&memory, sizeof host));
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
    const uint64_t before = now();
    support_spin("recorded", 1, 50000, stream);
    OK(cuMemcpyHtoDAsync_v2(memory, host, sizeof host, stream));
    OK(cuMemsetD32Async(memory, 0, 1000, stream));
    flush();
    const uint64_t after = now();
    const kernel_record *kernel = latest(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_string_equal(kernel->name, "recorded_spin_ns");
    const struct logged_op truth = support_op("recorded_spin_ns");
    assert_int_equal(kernel->end - kernel->start,
                     truth.end_ns + truth.end_ns / 500000 - truth.start_ns - truth.start_ns / 500000);
    assert_true(before < kernel->start && kernel->end < after);
    assert_true(kernel->start > 1700000000000000000u); // not CLOCK_MONOTONIC
    assert_int_equal(kernel->graphNodeId, 0);
    const copy_record *copy = latest(CUPTI_ACTIVITY_KIND_MEMCPY);
    assert_int_equal(copy->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    assert_int_equal(copy->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(copy->bytes, sizeof host);
    const set_record *set = latest(CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(set->bytes, 4000);
    assert_true(set->start >= copy->end && copy->start >= kernel->end);
    assert_true(kernel->correlationId != copy->correlationId && copy->correlationId != set->correlationId);
    assert_true(seen.is_other_thread);
    OK(cuMemFree_v2(memory));
}

static void single_functions_are_chosen_and_left_out(void **state)
{
    (void)state;
    const CUpti_CallbackId sync = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;
    OK(cuStreamSynchronize(stream));
    assert_int_equal(cuptiActivityEnableDriverApi(sync, 1), CUPTI_SUCCESS);
    support_spin("alone", 1, 1000, stream);
    flush();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_DRIVER), 1);
    assert_int_equal(((const CUpti_ActivityAPI *)latest(CUPTI_ACTIVITY_KIND_DRIVER))->cbid, sync);
    seen.count = 0;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnableDriverApi(sync, 0), CUPTI_SUCCESS);
    support_spin("others", 1, 1000, stream);
    flush();
    assert_true(count_of(CUPTI_ACTIVITY_KIND_DRIVER) > 0);
    for (unsigned i = 0; i < seen.count; i++)
        assert_int_not_equal(((const CUpti_ActivityAPI *)(const void *)seen.records[i])->cbid, sync);
}

static void records_come_latest_first(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
    support_close_gate(stream);
    for (int i = 0; i < 4; i++)
        support_spin("ordered", 1, 1000, stream);
    support_open_gate();
    flush();
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_KERNEL), 4);
    bool is_turned_round = false;
    for (unsigned i = 1; i < seen.count; i++) {
        const kernel_record *one = (void *)seen.records[i - 1], *next = (void *)seen.records[i];
        is_turned_round |= next->start < one->start;
    }
    assert_true(is_turned_round);
}

static void incomplete_work_is_not_handed_over(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    support_close_gate(stream);
    support_spin("pending", 1, 1000, stream);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(seen.count, 0);
    support_open_gate();
    flush();
    assert_int_equal(seen.count, 1);
}

static void a_forced_flush_hands_over_incomplete_records(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    support_spin("running", 1, 300000000, stream);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(seen.count, 0);
    assert_int_equal(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    const kernel_record *kernel = latest(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(kernel->start, 0);
    assert_int_equal(kernel->end, 0);
    flush();
    assert_int_equal(seen.count, 1); // nothing comes of it later
}

static void external_ids_precede_the_records_of_calls(void **state)
{
    (void)state;
    uint64_t id;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4711),
                     CUPTI_SUCCESS);
    support_spin("external", 1, 1000, stream);
    flush();
    // Only records of calls have them.
    assert_int_equal(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 0);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER), CUPTI_SUCCESS);
    support_spin("external", 1, 1000, stream);
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
                     CUPTI_SUCCESS);
    assert_int_equal(id, 4711);
    assert_int_equal(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
                     CUPTI_ERROR_QUEUE_EMPTY);
    flush();
    unsigned launches = 0;
    for (unsigned i = 0; i < seen.count; i++) {
        if (seen.records[i]->kind != CUPTI_ACTIVITY_KIND_DRIVER)
            continue;
        const CUpti_ActivityAPI *call = (void *)seen.records[i];
        const CUpti_ActivityExternalCorrelation *external = (void *)seen.records[i - 1];
        assert_int_equal(external->kind, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        assert_int_equal(external->externalId, 4711);
        assert_int_equal(external->correlationId, call->correlationId);
        launches += call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    }
    assert_int_equal(launches, 1);
}

struct calls {
    unsigned entries, exits;
    uint32_t correlation;
};

static void on_call(void *argument, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    struct calls *calls = argument;
    const CUpti_CallbackData *call = data;
    assert_int_equal(domain, CUPTI_CB_DOMAIN_DRIVER_API);
    assert_int_equal(id, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_string_equal(call->functionName, "cuLaunchKernel");
    calls->correlation = call->correlationId;
    if (call->callbackSite == CUPTI_API_ENTER) {
        *call->correlationData = 99;
        calls->entries++;
    } else {
        assert_int_equal(*call->correlationData, 99);
        calls->exits++;
    }
}

static void one_subscriber_sees_the_calls_it_asked_for(void **state)
{
    (void)state;
    struct calls calls = {0};
    CUpti_SubscriberHandle mine, other;
    const char *name;
    assert_int_equal(cuptiSubscribe(&mine, on_call, &calls), CUPTI_SUCCESS);
    assert_int_equal(cuptiSubscribe(&other, on_call, &calls), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
    char old_name[64] = "";
    CUpti_SubscriberParams parameters = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                         .oldSubscriberName = old_name,
                                         .oldSubscriberSize = sizeof old_name};
    assert_int_equal(cuptiSubscribe_v2(&other, on_call, &calls, &parameters),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_string_equal(old_name, "CUPTI");
    parameters.structSize = 1;
    assert_int_equal(cuptiSubscribe_v2(&other, on_call, &calls, &parameters), CUPTI_ERROR_INVALID_PARAMETER);
#endif
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 307, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "cuLaunchKernel");
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 100000, &name), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiEnableCallback(1, mine, CUPTI_CB_DOMAIN_DRIVER_API, 307), CUPTI_SUCCESS);
    assert_int_equal(cuptiEnableCallback(1, mine, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPH_CREATED),
                     CUPTI_SUCCESS);
    assert_int_equal(cuptiEnableCallback(1, mine, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE),
                     CUPTI_ERROR_INVALID_PARAMETER);
    CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE), CUPTI_ERROR_NOT_SUPPORTED);
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
    assert_int_equal(cuptiGetThreadIdType(&type), CUPTI_SUCCESS);
    assert_int_equal(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    support_spin("called", 1, 1000, stream);
    flush();
    const kernel_record *kernel = latest(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(calls.entries, 1);
    assert_int_equal(calls.exits, 1);
    assert_int_equal(calls.correlation, kernel->correlationId);
    assert_int_equal(cuptiUnsubscribe(mine), CUPTI_SUCCESS);
    assert_int_equal(cuptiUnsubscribe(mine), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiSubscribe(&other, on_call, &calls), CUPTI_SUCCESS);
    assert_int_equal(cuptiUnsubscribe(other), CUPTI_SUCCESS);
}

static CUgraphExec two_kernels(void)
{
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    support_spin("first", 1, 1000, stream);
    support_spin("second", 1, 2000, stream);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

static void nodes_of_graphs_come_late(void **state)
{
    (void)state;
    CUgraphExec exec = two_kernels();
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    OK(cuGraphLaunch(exec, stream));
    flush();
    assert_int_equal(seen.count, 0);
    flush();
    assert_int_equal(seen.count, 2);
    const kernel_record *one = (void *)seen.records[0], *other = (void *)seen.records[1];
    assert_int_equal(one->correlationId, other->correlationId);
    assert_true(one->graphNodeId && other->graphNodeId && one->graphNodeId != other->graphNodeId);
    assert_true(one->graphId && one->graphId == other->graphId);
    OK(cuGraphExecDestroy(exec));
}

static void graph_level_records_stand_for_all_nodes(void **state)
{
    (void)state;
    CUgraphExec exec = two_kernels();
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    OK(cuGraphLaunch(exec, stream));
    flush();
    flush();
    assert_int_equal(seen.count, 1);
    const graph_record *graph = latest(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    assert_true(graph->end - graph->start >= 3000);
    OK(cuGraphExecDestroy(exec));
}

static void records_without_a_buffer_are_dropped_and_counted(void **state)
{
    (void)state;
    size_t dropped;
    seen.refuses = true;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    for (int i = 0; i < 3; i++)
        support_spin("dropped", 1, 1000, stream);
    flush();
    assert_int_equal(seen.count, 0);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 3);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
}

static void full_buffers_come_unasked(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    for (unsigned i = 0; i < 2 * BUFFER_BYTES / sizeof(kernel_record) + 2; i++)
        support_spin("filling", 1, 100, stream);
    bool came = false;
    while (!came) { // bounded by the test's time limit
        pthread_mutex_lock(&seen.lock);
        came = seen.count > 0;
        pthread_mutex_unlock(&seen.lock);
        sched_yield();
    }
}

static void synchronisation_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
    flush();
    const wait_record *wait = latest(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    assert_int_equal(wait->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    assert_true(wait->start < wait->end);
}

static void calls_fail_as_configured_and_documented(void **state)
{
    (void)state;
    uint32_t version = 0;
    const char *text;
    assert_int_equal(cuptiGetVersion(&version), CUPTI_SUCCESS);
    assert_int_equal(version, CUPTI_API_VERSION);
    assert_int_equal(cuptiGetVersion(&version), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    assert_int_equal(cuptiGetVersion(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetResultString(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, &text), CUPTI_SUCCESS);
    assert_string_equal(text, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
    assert_int_equal(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_NVLINK), CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityRegisterCallbacks(NULL, complete), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
                     CUPTI_ERROR_INVALID_PARAMETER);
}

static void after_the_end_nothing_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiFinalize(), CUPTI_SUCCESS);
    support_spin("late", 1, 1000, stream);
    flush();
    assert_int_equal(seen.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(kernels_copies_and_memsets_are_recorded),
        TEST(single_functions_are_chosen_and_left_out),
        TEST(records_come_latest_first),
        TEST(incomplete_work_is_not_handed_over),
        TEST(a_forced_flush_hands_over_incomplete_records),
        TEST(external_ids_precede_the_records_of_calls),
        TEST(one_subscriber_sees_the_calls_it_asked_for),
        TEST(nodes_of_graphs_come_late),
        TEST(graph_level_records_stand_for_all_nodes),
        TEST(records_without_a_buffer_are_dropped_and_counted),
        TEST(full_buffers_come_unasked),
        TEST(synchronisation_is_recorded),
        TEST(calls_fail_as_configured_and_documented),
        TEST(after_the_end_nothing_is_recorded),
    };
#undef TEST
    return cmocka_run_group_tests(tests, start, NULL);
}
