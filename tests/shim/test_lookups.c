// Run with the shim preloaded and the simulated GPU in the library path: every road by which a program can ask for a
// CUDA function leads to the wrapper of exactly that function, and answers of other kinds are the real ones.
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef int proc_address(const char *symbol, void **pointer, int version, uint64_t flags, int *status);

static const char *requests_path;
static void *driver;

static bool is_wrapper(void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) && strstr(info.dli_fname, "libgpuwitness-shim.so");
}

static const char *name_of(void *address)
{
    Dl_info info;

    return dladdr(address, &info) && info.dli_sname ? info.dli_sname : "?";
}

// Runs first: no CUDA library is loaded yet.
static void nothing_is_found_without_a_driver(void **state)
{
    (void)state;
    dlerror();
    assert_null(dlsym(RTLD_DEFAULT, "cuInit"));
    assert_non_null(strstr(dlerror(), "undefined symbol: cuInit"));
    assert_null(dlsym(dlopen(NULL, RTLD_NOW), "cudaMalloc"));
    dlerror();
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
}

static void dlsym_gives_wrappers_of_the_driver(void **state)
{
    void *first = dlsym(driver, "cuInit");

    (void)state;
    assert_true(is_wrapper(first));
    assert_string_equal(name_of(first), "cuInit");
    assert_ptr_equal(dlsym(driver, "cuInit"), first);
    assert_ptr_equal(dlsym(RTLD_DEFAULT, "cuInit"), first);
    assert_string_equal(name_of(dlsym(driver, "cuMemAlloc_v2")), "cuMemAlloc_v2");
}

static void other_names_are_the_real_ones(void **state)
{
    (void)state;
    dlerror();
    assert_null(dlsym(driver, "cuNoSuchFunction"));
    assert_non_null(strstr(dlerror(), "cuNoSuchFunction"));
    assert_null(dlerror());
    assert_false(is_wrapper(dlsym(RTLD_DEFAULT, "malloc")));
    assert_non_null(dlsym(RTLD_NEXT, "malloc"));
    // The caller counts for RTLD_NEXT: asked from the program itself, it finds libc's.
    assert_ptr_equal(dlsym(RTLD_NEXT, "strtoull"), dlsym(RTLD_DEFAULT, "strtoull"));
}

static void versioned_names_give_wrappers(void **state)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);

    (void)state;
    assert_non_null(runtime);
    assert_string_equal(name_of(dlvsym(runtime, "cudaMalloc", "libcudart.so.13")), "cudaMalloc");
    assert_true(is_wrapper(dlvsym(runtime, "cudaMalloc", "libcudart.so.13")));
    assert_null(dlvsym(runtime, "cudaMalloc", "libcudart.so.1"));
    assert_non_null(dlerror());
}

static void errno_and_dlerror_are_the_programs(void **state)
{
    int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int devices = 0;

    (void)state;
    assert_int_equal(init(0), 0); // loads the tracer
    assert_null(dlopen("libabsent.so.9", RTLD_NOW));
    errno = 77;
    assert_int_equal(count(&devices), 0);
    assert_int_equal(errno, 77);
    assert_non_null(strstr(dlerror(), "libabsent"));
}

static void every_request_gets_the_wrapper_of_its_version(void **state)
{
    proc_address *ask = (proc_address *)dlsym(driver, "cuGetProcAddress_v2");
    FILE *requests = fopen(requests_path, "r");
    unsigned checked = 0;
    char line[256];

    (void)state;
    assert_non_null(ask);
    assert_non_null(requests);
    while (fgets(line, sizeof(line), requests)) {
        char base[128], symbol[128];
        unsigned version, flags;
        void *answer = NULL;
        int status = -1;

        if (sscanf(line, "%127s v=%u fl=%u %127s", base, &version, &flags, symbol) != 4 || symbol[0] == '(')
            continue;
        if (ask(base, &answer, (int)version, flags, &status) != 0 || !answer)
            continue; // not simulated
        assert_int_equal(status, 0);
        assert_true(is_wrapper(answer));
        assert_string_equal(name_of(answer), symbol);
        checked++;
    }
    fclose(requests);
    assert_true(checked > 200);
}

// CUDA 11's runtime asks by the first cuGetProcAddress, which has no status.
static void requests_of_cuda_11_get_wrappers_no_newer(void **state)
{
    int (*ask)(const char *, void **, int, uint64_t) =
        (int (*)(const char *, void **, int, uint64_t))dlsym(driver, "cuGetProcAddress");
    FILE *requests = fopen(requests_path, "r");
    unsigned checked = 0;
    char line[256];

    (void)state;
    assert_non_null(ask);
    assert_non_null(requests);
    while (fgets(line, sizeof(line), requests)) {
        char base[128], symbol[128];
        unsigned version, flags;
        void *answer = NULL;

        if (sscanf(line, "%127s v=%u fl=%u %127s", base, &version, &flags, symbol) != 4 || version > 11080 ||
            symbol[0] == '(' || ask(base, &answer, 11080, flags) != 0 || !answer)
            continue;
        assert_true(is_wrapper(answer));
        checked++;
    }
    fclose(requests);
    assert_true(checked > 200);
}

static void unknown_requests_fail_as_the_driver_says(void **state)
{
    proc_address *ask = (proc_address *)dlsym(driver, "cuGetProcAddress_v2");
    void *answer = NULL;
    int status = -1;

    (void)state;
    assert_int_not_equal(ask("cuNoSuchFunction", &answer, 13000, 0, &status), 0);
    assert_null(answer);
    assert_int_equal(status, 1); // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
    ask("cuStreamGetCaptureInfo", &answer, 1000, 0, &status);
    assert_int_equal(status, 2); // CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_without_a_driver),
        cmocka_unit_test(dlsym_gives_wrappers_of_the_driver),
        cmocka_unit_test(other_names_are_the_real_ones),
        cmocka_unit_test(versioned_names_give_wrappers),
        cmocka_unit_test(errno_and_dlerror_are_the_programs),
        cmocka_unit_test(every_request_gets_the_wrapper_of_its_version),
        cmocka_unit_test(requests_of_cuda_11_get_wrappers_no_newer),
        cmocka_unit_test(unknown_requests_fail_as_the_driver_says),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s REQUESTS\n", argv[0]);
        return 2;
    }
    requests_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
