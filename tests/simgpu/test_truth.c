// The truth log itself: its form, what a killed process leaves, what a forked child does; depth and quoting; and the
// calls of the observer, which are not in it.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/test_support.h"

#define HEADER_CALL "call,tid,depth,name,begin_ns,end_ns,result\n"
#define HEADER_OP "op,device,stream,kind,name,bytes,submit_ns,start_ns,end_ns,graph_node,cause\n"

static char child_path[300];

// The whole file. The caller frees.
static char *read_log(const char *path)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(1, MOST);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST - 1, file) < MOST - 1);
    fclose(file);
    return text;
}

static char *child_log(pid_t child)
{
    snprintf(child_path, sizeof child_path, "%.*s/truth.%d.csv",
             (int)(strrchr(support_truth_path(), '/') - support_truth_path()), support_truth_path(), (int)child);
    char *text = read_log(child_path);
    unlink(child_path);
    return text;
}

static int start(void **state)
{
    (void)state;
    support_configure("h2d_pageable_gbps 100000\n");
    return 0;
}

static void child_of_an_uninitialised_parent_works(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0)
        _exit(cuInit(0) == CUDA_SUCCESS ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *log = child_log(child);
    assert_int_equal(strncmp(log, HEADER_CALL HEADER_OP, strlen(HEADER_CALL HEADER_OP)), 0);
    assert_non_null(strstr(log, ",1,cuInit,"));
    free(log);
}

static void sibling_libraries_log_too(void **state)
{
    (void)state;
    struct simgpu_call outer;
    int count;
    double sms = 0;
    OK(cuInit(0));
    assert_int_equal(simgpu_call_begin(&outer, "outer,\"call\"", __builtin_return_address(0)), 0);
    assert_int_equal(outer.logged, 1);
    OK(cuDeviceGetCount(&count));
    simgpu_call_end(&outer, 77);
    assert_int_equal(support_call("cuDeviceGetCount").depth, 2);
    char *log = read_log(support_truth_path());
    assert_non_null(strstr(log, ",1,\"outer,\"\"call\"\"\","));
    assert_non_null(strstr(log, ",77\n"));
    free(log);
    assert_int_equal(simgpu_config_number("sms", &sms), 0);
    assert_true(sms == 132);
    assert_true(simgpu_config_number("no_such_key", &sms) < 0);
}

static void forked_child_has_no_driver(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        int count;
        _exit(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0
                                                                                                                : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *log = child_log(child);
    assert_non_null(strstr(log, ",cuDeviceGetCount,"));
    assert_non_null(strstr(log, ",3\n"));
    free(log);
    int count;
    OK(cuDeviceGetCount(&count));
}

static void killed_process_keeps_its_rows(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        int version;
        for (int i = 0; i < 2000; i++) // more than a block of the file
            cuDriverGetVersion(&version);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    char *log = child_log(child);
    unsigned rows = 0;
    for (const char *at = log; (at = strstr(at, "cuDriverGetVersion")); at++)
        rows++;
    assert_int_equal(rows, 2000);
    free(log);
}

static void calls_of_the_tracer_are_not_the_programs(void **state)
{
    (void)state;
    int version = 0;
    struct simgpu_call call;
    void *tracer = dlopen(FAKE_TRACER, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(tracer);
    int (*observe)(int (*)(int *), int *) = (int (*)(int (*)(int *), int *))dlsym(tracer, "observe");
    assert_non_null(observe);
    char *before = read_log(support_truth_path());
    assert_int_equal(observe((int (*)(int *))cuDriverGetVersion, &version), CUDA_SUCCESS);
    assert_int_equal(version, CUDA_VERSION);
    char *after = read_log(support_truth_path());
    assert_string_equal(before, after);
    free(before);
    free(after);
    // A call like any other follows.
    assert_int_equal(simgpu_call_begin(&call, "later", __builtin_return_address(0)), 0);
    assert_int_equal(call.logged, 1);
    simgpu_call_end(&call, 0);
    assert_int_equal(support_call("later").depth, 1);
}

// However short the copy was planned to be, the device cannot have what the host has not handed over.
static void copy_ends_after_its_bytes_are_staged(void **state)
{
    (void)state;
    const size_t bytes = 128u << 20;
    CUcontext context;
    CUdeviceptr memory;
    char *source = malloc(bytes);
    assert_non_null(source);
    memset(source, 1, bytes);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, bytes));
    OK(cuMemcpyHtoDAsync(memory, source, bytes, NULL));
    const struct logged_call call = support_call("cuMemcpyHtoDAsync_v2");
    const struct logged_op copy = support_op("=h2d");
    assert_int_equal(copy.bytes, bytes);
    assert_true(copy.end_ns > call.begin_ns + (call.end_ns - call.begin_ns) / 2);
    OK(cuMemFree(memory));
    OK(cuDevicePrimaryCtxRelease(0));
    free(source);
}

int main(void)
{
    // In this order: the first needs a process that has not initialised the driver.
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_of_an_uninitialised_parent_works),
        cmocka_unit_test(sibling_libraries_log_too),
        cmocka_unit_test(forked_child_has_no_driver),
        cmocka_unit_test(killed_process_keeps_its_rows),
        cmocka_unit_test(calls_of_the_tracer_are_not_the_programs),
        cmocka_unit_test(copy_ends_after_its_bytes_are_staged),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
