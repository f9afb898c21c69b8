// Many threads at once, each on streams of its own and on shared ones: every call succeeds, every operation is logged,
// no thread's data is another's. Meant to be run under ThreadSanitizer too.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/test_support.h"

enum { THREADS = 6, ROUNDS = 40, BYTES = 100000 };

static CUcontext context;
static CUfunction kernel;

static void count_call(void *counter)
{
    ++*(int *)counter;
}

// Returns NULL, or the text of the first expression that failed.
static void *work(void *number)
{
#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        if ((expression) != CUDA_SUCCESS)                                                                              \
            return #expression;                                                                                        \
    } while (0)
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    int calls = 0;
    unsigned char *from = malloc(BYTES), *to = malloc(BYTES);
    if (!from || !to)
        return "malloc";
    TRY(cuCtxSetCurrent(context));
    TRY(cuStreamCreate(&stream, (uintptr_t)number % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    TRY(cuEventCreate(&event, 0));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t duration_ns = 1000;
        void *parameters[] = {&duration_ns};
        TRY(cuMemAllocAsync(&memory, BYTES, stream));
        memset(from, (int)(uintptr_t)number * ROUNDS + round, BYTES);
        TRY(cuMemcpyHtoDAsync(memory, from, BYTES, stream));
        TRY(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, round % 4 ? stream : NULL, parameters, NULL));
        TRY(cuLaunchHostFunc(stream, count_call, &calls));
        TRY(cuEventRecord(event, stream));
        TRY(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        TRY(cuMemcpyDtoHAsync(to, memory, BYTES, CU_STREAM_PER_THREAD));
        TRY(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        if (memcmp(from, to, BYTES) != 0)
            return "other data";
        if (calls != round + 1)
            return "a host function did not run";
        TRY(cuMemFreeAsync(memory, stream));
    }
    TRY(cuEventDestroy(event));
    TRY(cuStreamDestroy(stream));
    free(from);
    free(to);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        if (failed)
            fail_msg("%s", (const char *)failed);
    }
    OK(cuCtxSynchronize());
    assert_int_equal(support_op_count("shared_spin_ns"), THREADS * ROUNDS);
    assert_int_equal(support_op_count("=h2d"), THREADS * ROUNDS);
    assert_int_equal(support_op_count("=host"), THREADS * ROUNDS);
}

static int start(void **state)
{
    (void)state;
    support_start("");
    OK(cuCtxGetCurrent(&context));
    kernel = support_kernel("shared_spin_ns");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_disturb_each_other)};
    return cmocka_run_group_tests(tests, start, NULL);
}
