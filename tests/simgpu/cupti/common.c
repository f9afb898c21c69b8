// The driver underneath, versions, error texts, identities, and the end.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "tests/simgpu/cupti/profiler.h"

static struct {
    simgpu_observe_fn *observe;
    simgpu_fault_fn *fault;
} driver;

static void forget_in_child(void)
{
    activity_stop();
    callbacks_stop();
}

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    driver.fault = (simgpu_fault_fn *)dlsym(library, "simgpu_fault");
    driver.observe = (simgpu_observe_fn *)dlsym(library, "simgpu_observe");
    pthread_atfork(NULL, NULL, forget_in_child);
}

static void find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
}

int profiler_fault(const char *name)
{
    find();
    return driver.fault ? driver.fault(name) : 0;
}

bool profiler_has_driver(void)
{
    find();
    return driver.observe != NULL;
}

void profiler_watch(bool watching)
{
    static const struct simgpu_observer observer = {.call = callbacks_call, .operation = activity_operation};
    if (driver.observe)
        driver.observe(watching ? &observer : NULL);
}

static CUptiResult get_version(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

static CUptiResult result_text(CUptiResult result, const char **text)
{
    static const struct {
        CUptiResult result;
        const char *text;
    } known[] = {
#define X(name) {CUPTI_##name, "CUPTI_" #name},
#include "results.inc"
#undef X
    };
    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++) {
        if (known[i].result == result) {
            *text = known[i].text;
            return CUPTI_SUCCESS;
        }
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult finalize(void)
{
    activity_stop();
    callbacks_stop();
    profiler_watch(false);
    delivery_stop();
    return CUPTI_SUCCESS;
}

ENTRY(cuptiGetVersion, (uint32_t * version), get_version(version))
ENTRY(cuptiGetResultString, (CUptiResult result, const char **str), result_text(result, str))
ENTRY(cuptiGetErrorMessage, (CUptiResult result, const char **str), result_text(result, str))
ENTRY(cuptiFinalize, (void), finalize())
