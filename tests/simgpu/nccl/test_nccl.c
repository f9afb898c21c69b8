// When collectives start and end, and what they do to kernels beside them.
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/test_support.h"

#define NCCL(call) assert_int_equal(call, ncclSuccess)
#define FLOATS 262144u
#define BYTES (FLOATS * sizeof(float))

static ncclComm_t comms[3];
static CUcontext contexts[3];
static CUstream streams[3];
static CUdeviceptr data[3];

// The latest operation of that name on a device.
static struct logged_op op_of(const char *name, unsigned device)
{
    char line[512], format[128], found_name[64];
    struct logged_op op = {0};
    FILE *file = fopen(support_truth_path(), "r");
    assert_non_null(file);
    snprintf(format, sizeof format, "op,%u,%%u,kernel,%%63[^,],%%*u,%%lu,%%lu,%%lu", device);
    while (fgets(line, sizeof line, file)) {
        struct logged_op here = {.device = device};
        if (sscanf(line, format, &here.stream, found_name, &here.submit_ns, &here.start_ns, &here.end_ns) == 5 &&
            strcmp(found_name, name) == 0)
            op = here;
    }
    fclose(file);
    if (!op.end_ns)
        fail_msg("no operation %s on device %u", name, device);
    return op;
}

static int start(void **state)
{
    char text[256];
    snprintf(text, sizeof text, "%s%s", "devices 3\nnccl_latency_ns 10000\nnccl_gbps 100\nlink 0 2 50\ncontention 2\n",
             *state ? (const char *)*state : "");
    support_start(text);
    const int devices[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        OK(cuMemAlloc(&data[i], 4 * BYTES));
    }
    OK(cuCtxSetCurrent(contexts[0]));
    NCCL(ncclCommInitAll(comms, 3, devices));
    return 0;
}

static int start_without_data(void **state)
{
    char line[] = "nccl_data 0\n";
    *state = line;
    const int result = start(state);
    *state = NULL;
    return result;
}

static void synchronise(void)
{
    for (int i = 0; i < 3; i++)
        OK(cuStreamSynchronize(streams[i]));
}

static void all_reduce(int rank)
{
    NCCL(ncclAllReduce((void *)data[rank], (void *)data[rank], FLOATS, ncclFloat, ncclSum, comms[rank],
                       (cudaStream_t)streams[rank]));
}

static void ends_together_after_the_last(void **state)
{
    (void)state;
    const char *name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    support_spin("late", 1, 20000000, streams[0]); // of device 0, whose context is current
    for (int i = 0; i < 3; i++)
        all_reduce(i);
    synchronise();
    const struct logged_op late = support_op("late_spin_ns"), first = op_of(name, 0);
    assert_int_equal(first.start_ns, late.end_ns);
    for (unsigned i = 1; i < 3; i++) {
        const struct logged_op other = op_of(name, i);
        assert_int_equal(other.start_ns, other.submit_ns + 2500);
        assert_true(other.start_ns < first.start_ns);
        assert_int_equal(other.end_ns, first.end_ns);
    }
    // 2 (n - 1) / n of the bytes, at the rate of the slowest link of the ring.
    const uint64_t least_ns = (uint64_t)(10000 + (double)BYTES * 4 / 3 / 50);
    assert_int_equal(first.end_ns - first.start_ns, least_ns);
    assert_int_equal(support_call("ncclAllReduce").depth, 1);
    assert_int_equal(support_call("ncclAllReduce").result, ncclSuccess);
}

static void without_data_nothing_is_moved(void **state)
{
    (void)state;
    float value = 0;
    for (int i = 0; i < 3; i++)
        OK(cuMemsetD32(data[i], 0x3f800000, FLOATS)); // 1.0f
    for (int i = 0; i < 3; i++)
        all_reduce(i);
    synchronise();
    OK(cuMemcpyDtoH(&value, data[1], sizeof value));
    assert_float_equal(value, 1, 0);
}

static void later_work_waits_for_the_end(void **state)
{
    (void)state;
    support_spin("hold", 1, 20000000, streams[0]);
    for (int i = 0; i < 3; i++)
        all_reduce(i);
    support_spin("next", 1, 1000, streams[0]);
    synchronise();
    const struct logged_op before = op_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0),
                           next = support_op("next_spin_ns");
    support_expect_after(&next, &before, "stream");
}

static void messages_take_the_link_of_the_pair(void **state)
{
    (void)state;
    static const int peers[][2] = {{0, 1}, {0, 2}};
    static const double gbps[] = {100, 50};
    for (int i = 0; i < 2; i++) {
        const int from = peers[i][0], to = peers[i][1];
        NCCL(ncclGroupStart());
        NCCL(ncclSend((void *)data[from], FLOATS, ncclFloat, to, comms[from], (cudaStream_t)streams[from]));
        NCCL(ncclRecv((void *)data[to], FLOATS, ncclFloat, from, comms[to], (cudaStream_t)streams[to]));
        NCCL(ncclGroupEnd());
        synchronise();
        const struct logged_op sent = op_of("ncclDevKernel_SendRecv", (unsigned)from);
        const struct logged_op received = op_of("ncclDevKernel_SendRecv", (unsigned)to);
        const uint64_t last_ns = sent.start_ns > received.start_ns ? sent.start_ns : received.start_ns;
        assert_int_equal(sent.end_ns, received.end_ns);
        assert_int_equal(sent.end_ns - last_ns, (uint64_t)(10000 + (double)BYTES / gbps[i]));
    }
}

// A stream on which both wait lets them start together, however slowly this thread submits.
static void kernels_beside_it_are_slower(void **state)
{
    (void)state;
    CUstream beside, before;
    CUevent ready;
    OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
    support_spin("both_wait_for", 1, 20000000, before);
    OK(cuEventRecord(ready, before));
    OK(cuStreamWaitEvent(streams[0], ready, 0));
    OK(cuStreamWaitEvent(beside, ready, 0));
    for (int i = 2; i >= 0; i--)
        all_reduce(i);
    support_spin("beside", 100000, 5000, beside); // as wide as the device
    synchronise();
    OK(cuStreamSynchronize(beside));
    const struct logged_op communication = op_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0);
    const struct logged_op kernel = support_op("beside_spin_ns");
    assert_int_equal(kernel.start_ns, communication.start_ns);
    assert_int_equal(kernel.end_ns - kernel.start_ns, 10000);
    OK(cuEventDestroy(ready));
    OK(cuStreamDestroy(beside));
    OK(cuStreamDestroy(before));
}

static void a_communicator_s_work_is_in_order(void **state)
{
    (void)state;
    CUstream other[3];
    for (int i = 0; i < 3; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuStreamCreate(&other[i], CU_STREAM_NON_BLOCKING));
    }
    OK(cuCtxSetCurrent(contexts[0]));
    support_spin("hold", 1, 20000000, streams[0]);
    for (int i = 0; i < 3; i++) {
        all_reduce(i);
        NCCL(ncclBcast((void *)data[i], FLOATS, ncclFloat, 0, comms[i], (cudaStream_t)other[i]));
    }
    synchronise();
    for (unsigned i = 0; i < 3; i++) {
        OK(cuStreamSynchronize(other[i]));
        assert_true(op_of("ncclDevKernel_Broadcast_RING_LL", i).start_ns >=
                    op_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL", i).end_ns);
        OK(cuStreamDestroy(other[i]));
    }
}

static void groups_can_be_simulated(void **state)
{
    (void)state;
    const unsigned before = support_op_count("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    NCCL(ncclGroupStart());
    all_reduce(0);
    NCCL(ncclGroupSimulateEnd(&info));
    assert_true(info.estimatedTime > 37 && info.estimatedTime < 39);
    assert_int_equal(support_op_count("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), before);
}

// A process has one configuration: "no-data" runs it with the one in which nothing is moved.
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_together_after_the_last),       cmocka_unit_test(later_work_waits_for_the_end),
        cmocka_unit_test(messages_take_the_link_of_the_pair), cmocka_unit_test(kernels_beside_it_are_slower),
        cmocka_unit_test(a_communicator_s_work_is_in_order),  cmocka_unit_test(groups_can_be_simulated),
    };
    const struct CMUnitTest without_data[] = {
        cmocka_unit_test(ends_together_after_the_last),
        cmocka_unit_test(messages_take_the_link_of_the_pair),
        cmocka_unit_test(a_communicator_s_work_is_in_order),
        cmocka_unit_test(without_data_nothing_is_moved),
    };
    if (argc > 1 && strcmp(argv[1], "no-data") == 0)
        return cmocka_run_group_tests(without_data, start_without_data, NULL);
    return cmocka_run_group_tests(tests, start, NULL);
}
