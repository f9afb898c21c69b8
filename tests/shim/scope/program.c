// scope [alone]: the loader looks at who calls dlsym, dlvsym and dlopen; the shim's hooks must not be seen in between.
// With the shim preloaded (unless `alone`), functions of the driver lead to its wrappers. Prints what failed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *scope_name(void);
const char *first_next(void);
const char *first_default(const char *function);
void *first_open(const char *file);
const char *second_next(void);
void *second_open(const char *file);

static int failures;

static void check(bool fine, const char *what)
{
    if (!fine) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

static void check_scopes(void)
{
    void *third = dlopen("libscope_third.so", RTLD_NOW | RTLD_LOCAL);
    const char *(*third_default)(const char *) =
        third ? (const char *(*)(const char *))dlsym(third, "third_default") : NULL;
    const char *(*third_next)(void) = third ? (const char *(*)(void))dlsym(third, "third_next") : NULL;

    check(strcmp(scope_name(), "first") == 0, "the program is linked to the first");
    check(strcmp(first_next(), "second") == 0, "after the first comes the second");
    check(strcmp(second_next(), "nothing") == 0, "after the second comes none");
    check(strcmp(((const char *(*)(void))dlsym(RTLD_DEFAULT, "scope_name"))(), "first") == 0, "by default the first");
    check(!dlsym(RTLD_DEFAULT, "third_next"), "what was opened locally is not the program's by default");
    check(third_default && strcmp(third_default("third_next"), "found") == 0, "but its own");
    check(strcmp(first_default("third_next"), "nothing") == 0, "and nobody else's");
    check(third_next && strcmp(third_next(), "nothing") == 0, "after the third comes none");
    // A run path is that of the caller.
    check(second_open("libscope_inner.so") != NULL, "found by the second's run path");
    check(first_open("libscope_inner_absent.so") == NULL && strstr(dlerror(), "libscope_inner_absent"),
          "an error's text");
    check(dlvsym(RTLD_DEFAULT, "gnu_get_libc_version", "GLIBC_NOWHERE") == NULL && strstr(dlerror(), "GLIBC_NOWHERE"),
          "a version that is not there");
}

static bool is_wrapper(void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) && strstr(info.dli_fname, "libgpuwitness-shim.so");
}

static void check_driver(bool preloaded)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;

    check(driver != NULL, "the driver opens");
    check(is_wrapper((void *)init) == preloaded, "cuInit is the wrapper's");
    check(init && init(0) == 0, "cuInit works");
    check(dlsym(driver, "cuInit") == (void *)init, "and stays the same");
    check(!is_wrapper(dlsym(RTLD_DEFAULT, "printf")), "other names are not touched");
}

int main(int argc, char **argv)
{
    check_scopes();
    check_driver(!(argc == 2 && strcmp(argv[1], "alone") == 0));
    printf("failures: %d\n", failures);
    return failures != 0;
}
