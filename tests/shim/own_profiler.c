// own-profiler before|later|at-once|in-flight|again linked|looked-up: a program that profiles itself with CUPTI, as
// PyTorch's and JAX's profilers do: it asks for CUPTI once, and prints what it was told. Recorded or not, that must be
// the same.
//   before     subscribes before CUDA is used; later: after 20 steps; at-once: on another thread while the context is
//   made; in-flight  after 20 steps, the last of which has a kernel that is still running; again: twice, with
//   cuptiFinalize between
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES 65536u
#define STEPS 20
#define KERNELS 5 // a step
#define RECORDS_MAX 4096

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int error = (int)(call);                                                                                       \
        if (error) {                                                                                                   \
            printf("%s: %d\n", #call, error);                                                                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

// symbol, argument list
#define FUNCTIONS(F)                                                                                                   \
    F(cuptiSubscribe, (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *))                                          \
    F(cuptiUnsubscribe, (CUpti_SubscriberHandle))                                                                      \
    F(cuptiEnableCallback, (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId))                 \
    F(cuptiActivityRegisterCallbacks, (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc))           \
    F(cuptiActivityEnable, (CUpti_ActivityKind))                                                                       \
    F(cuptiActivityDisable, (CUpti_ActivityKind))                                                                      \
    F(cuptiActivityFlushAll, (uint32_t))                                                                               \
    F(cuptiActivityGetNextRecord, (uint8_t *, size_t, CUpti_Activity **))                                              \
    F(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *))                                              \
    F(cuptiFinalize, (void))

static struct {
#define MEMBER(symbol, arguments) CUptiResult(*symbol) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

struct seen {
    char name[64];
    uint64_t duration_ns, start_ns;
};

static struct seen records[RECORDS_MAX];
static unsigned record_count, calls, foreign;
static uint8_t *handed_out[64]; // buffers that are CUPTI's at the moment
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = malloc(BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < sizeof handed_out / sizeof *handed_out; i++)
        if (!handed_out[i]) {
            handed_out[i] = *buffer;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    bool own = false;

    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < sizeof handed_out / sizeof *handed_out; i++)
        if (handed_out[i] == buffer) {
            handed_out[i] = NULL;
            own = true;
            break;
        }
    foreign += !own;
    while (own && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const CUpti_ActivityKernel9 *kernel = (const void *)record; // its beginning is that of all later ones

        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record_count < RECORDS_MAX) {
            struct seen *seen = &records[record_count++];

            snprintf(seen->name, sizeof seen->name, "%s", kernel->name);
            seen->start_ns = kernel->start;
            seen->duration_ns = kernel->end - kernel->start;
        }
    }
    pthread_mutex_unlock(&lock);
    if (own)
        free(buffer);
}

static void on_call(void *argument, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)argument, (void)domain, (void)id;
    if (((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER)
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void find_functions(bool linked)
{
#define LINK(symbol, arguments) cupti.symbol = symbol;
    FUNCTIONS(LINK)
#undef LINK
    if (linked)
        return;
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        exit(2);
#define FIND(symbol, arguments) cupti.symbol = (CUptiResult(*) arguments)dlsym(library, #symbol);
    FUNCTIONS(FIND)
#undef FIND
}

static CUpti_SubscriberHandle subscriber;

static void *begin_profiling(void *unused)
{
    (void)unused;
    CHECK(cupti.cuptiSubscribe(&subscriber, on_call, NULL));
    CHECK(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    CHECK(cupti.cuptiActivityRegisterCallbacks(request, complete));
    CHECK(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    return NULL;
}

static int by_start(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;

    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void end_profiling(void)
{
    size_t dropped = 0;

    CHECK(cuCtxSynchronize());
    CHECK(cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CHECK(cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CHECK(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    CHECK(cupti.cuptiUnsubscribe(subscriber));
    qsort(records, record_count, sizeof *records, by_start);
    printf("%u calls, %u records, %zu dropped, %u buffers of others\n", calls, record_count, dropped, foreign);
    for (unsigned i = 0; i < record_count; i++)
        printf("%s %.1f us\n", records[i].name, (double)records[i].duration_ns / 1000);
    record_count = calls = 0;
}

static CUfunction spin;

static void launch(unsigned long long ns)
{
    void *parameters[] = {&ns};

    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

static void run_steps(void)
{
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned kernel = 0; kernel < KERNELS; kernel++)
            launch(10000 + 5000 * kernel);
        CHECK(cuCtxSynchronize());
    }
}

static void open_device(void)
{
    static const char image[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                ".visible .entry step_spin_ns(.param .u64 ns)\n{\nret;\n}\n";
    CUcontext context;
    CUmodule module;

    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&spin, module, "step_spin_ns"));
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "later";
    pthread_t other;

    find_functions(argc > 2 && strcmp(argv[2], "linked") == 0);
    CHECK(cuInit(0));
    if (strcmp(when, "before") == 0)
        begin_profiling(NULL);
    if (strcmp(when, "at-once") == 0) {
        CHECK(pthread_create(&other, NULL, begin_profiling, NULL));
        open_device();
        CHECK(pthread_join(other, NULL));
    } else {
        open_device();
    }
    if (strcmp(when, "before") != 0 && strcmp(when, "at-once") != 0) {
        run_steps();
        if (strcmp(when, "in-flight") == 0)
            launch(150000000);
        begin_profiling(NULL);
    }
    run_steps();
    end_profiling();
    run_steps();
    if (strcmp(when, "again") == 0) {
        CHECK(cupti.cuptiFinalize());
        begin_profiling(NULL);
        run_steps();
        end_profiling();
    }
    puts("done");
    return 0;
}
