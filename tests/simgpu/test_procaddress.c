// Look-ups: each of those the real CUDA 13 runtime makes at its start (symbol_requests.txt: name, version, flags,
// symbol that answers), and the answers for what does not exist.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/simgpu/test_support.h"

#include <dlfcn.h>

static const char *symbol_of(void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_sname ? info.dli_sname : "";
}

// Two names for one address would make dladdr's answer ambiguous; then the symbol's own address decides.
static void expect_symbol(void *address, const char *symbol)
{
    if (strcmp(symbol_of(address), symbol) != 0)
        assert_ptr_equal(address, dlsym(RTLD_DEFAULT, symbol));
}

static void every_request_of_the_runtime_is_answered(void **state)
{
    (void)state;
    char line[256], name[96], symbol[96];
    int version, flags, requests = 0, answered = 0;
    FILE *file = fopen(SYMBOL_REQUESTS, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        void *address = NULL;
        CUdriverProcAddressQueryResult status;
        requests++;
        if (sscanf(line, "%95s v=%d fl=%d %95s", name, &version, &flags, symbol) != 4) {
            // The first has an empty name.
            assert_int_equal(cuGetProcAddress("", &address, 0, 0, &status), CUDA_ERROR_NOT_FOUND);
            assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
            continue;
        }
        const CUresult result = cuGetProcAddress(name, &address, version, (cuuint64_t)flags, &status);
        if (result != CUDA_SUCCESS)
            fail_msg("%s of version %d is not found", name, version);
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        assert_non_null(address);
        answered++;
        if (strcmp(symbol, "(none)") != 0)
            expect_symbol(address, symbol);
    }
    fclose(file);
    assert_int_equal(requests, 440);
    assert_int_equal(answered, 439);
}

static void version_and_mode_choose(void **state)
{
    (void)state;
    void *address;
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress("cuCtxSynchronize", &address, 12090, 0, &status));
    expect_symbol(address, "cuCtxSynchronize");
    OK(cuGetProcAddress("cuCtxSynchronize", &address, 13000, 0, &status));
    expect_symbol(address, "cuCtxSynchronize_v2");
    OK(cuGetProcAddress("cuMemcpyHtoD", &address, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    expect_symbol(address, "cuMemcpyHtoD_v2_ptds");
    OK(cuGetProcAddress("cuMemcpyHtoD", &address, 6000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    expect_symbol(address, "cuMemcpyHtoD_v2");
    OK(cuGetProcAddress("cuMemAlloc", &address, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    expect_symbol(address, "cuMemAlloc_v2");
}

static void what_does_not_exist_is_named(void **state)
{
    (void)state;
    void *address = (void *)1;
    CUdriverProcAddressQueryResult status;
    assert_int_equal(cuGetProcAddress("cuNothing", &address, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(address);
    assert_int_equal(cuGetProcAddress("cuGraphCreate", &address, 9000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_int_equal(cuGetProcAddress(NULL, &address, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGetProcAddress("cuInit", NULL, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    OK(cuGetProcAddress("cuInit", &address, 13000, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_of_the_runtime_is_answered),
        cmocka_unit_test(version_and_mode_choose),
        cmocka_unit_test(what_does_not_exist_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
