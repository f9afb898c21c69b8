// timed-launches [short|memory [MILLIONS]|activity|callback|external]: launches kernels on the simulated GPU as fast as
// it can, a round being waited for, and prints nanoseconds a launch. activity, callback, external: it uses CUPTI
// itself, to compare two ways from a record to its call: a callback at the call's entry, or an external correlation id
// round the call. short: fewer launches. memory: five million or as many as said, and prints the process's memory in kB
// after each million. Run by timing.sh.
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES 1048576u

static uint64_t records, last_correlation;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = malloc(BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;

    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        records++;
    free(buffer);
}

static void on_call(void *argument, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)argument, (void)domain, (void)id;
    last_correlation = ((const CUpti_CallbackData *)data)->correlationId;
}

static CUptiResult start(const char *way)
{
    CUpti_SubscriberHandle subscriber;
    CUptiResult error = cuptiActivityRegisterCallbacks(request, complete);

    error = error ? error : cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (strcmp(way, "callback") == 0) {
        error = error ? error : cuptiSubscribe(&subscriber, on_call, NULL);
        error = error ? error
                      : cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    } else if (strcmp(way, "external") == 0) {
        error = error ? error : cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        error = error ? error : cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
    }
    return error;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static CUresult launch(CUfunction function, int external, uint64_t id)
{
    CUresult error;

    if (external)
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
    error = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    if (external)
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL);
    return error;
}

static unsigned long resident_kb(void)
{
    unsigned long kb = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %lu", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

// Returns 0, or what a call of CUDA returned.
static CUresult watch_memory(CUfunction function, unsigned millions)
{
    const unsigned calls = 1000000, together = 5000;

    for (unsigned million = 0; million < millions; million++) {
        for (unsigned i = 0; i < calls; i++) {
            CUresult error = launch(function, 0, i);

            error = error || i % together ? error : cuCtxSynchronize();
            if (error)
                return error;
        }
        printf("%lu ", resident_kb());
        fflush(stdout);
    }
    puts("");
    return CUDA_SUCCESS;
}

int main(int argc, char **argv)
{
    // PTX, for the simulated GPU, which reads names only, as for a real one.
    static const char image[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n";
    const int is_short = argc > 1 && strcmp(argv[1], "short") == 0;
    const unsigned rounds = is_short ? 2 : 20, calls = 5000;
    const int external = argc > 1 && strcmp(argv[1], "external") == 0;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    double best = 1e9;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, image) || cuModuleGetFunction(&function, module, "empty"))
        return 1;
    if (argc > 1 && strcmp(argv[1], "memory") == 0)
        return watch_memory(function, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5) != CUDA_SUCCESS;
    if (argc > 1 && !is_short && start(argv[1]))
        return 1;
    for (unsigned round = 0; round < rounds; round++) {
        double begin = now_ns();

        for (unsigned i = 0; i < calls; i++)
            if (launch(function, external, i))
                return 1;
        double each = (now_ns() - begin) / calls;

        best = each < best ? each : best;
        if (cuCtxSynchronize())
            return 1;
    }
    if (argc > 1 && !is_short && cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
        return 1;
    printf("%.1f %.2f\n", best, (double)records / (rounds * calls));
    return 0;
}
