/*
 * nvtx_program TRUTH: annotates what it does in every way that NVTX has, and writes to the file TRUTH what a recording
 * has to say of it: "range,NAME,DOMAIN,THREAD,AT_LEAST,AT_MOST,AT_LEAST,AT_MOST" with bounds for begin and end (equal
 * for a mark), and "thread,NAME,THREAD". Prints what the program itself sees, which no tool changes.
 */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEPS 12

int nvtx_library_begin(const char *name);
int nvtx_library_end(void);

static FILE *truth;
static void *memory;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned thread_id(void)
{
    return (unsigned)syscall(SYS_gettid);
}

struct bounds {
    uint64_t begin[2], end[2];
};

// Takes the time before and after an expression.
#define TIMED(bound, expression)                                                                                       \
    do {                                                                                                               \
        (bound)[0] = now_ns();                                                                                         \
        expression;                                                                                                    \
        (bound)[1] = now_ns();                                                                                         \
    } while (0)

static void note(const char *name, const char *domain, unsigned thread, const struct bounds *b)
{
    fprintf(truth, "range,%s,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", name, domain, thread,
            b->begin[0], b->begin[1], b->end[0], b->end[1]);
}

static nvtxEventAttributes_t attributes_of(nvtxMessageType_t type)
{
    nvtxEventAttributes_t attributes;

    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = 7;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = 0xff112233;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = 99;
    attributes.messageType = (int32_t)type;
    return attributes;
}

// Marks with a number of every other type that NVTX has.
static void mark_numbers(nvtxDomainHandle_t domain)
{
    static const nvtxEventAttributes_t numbers[] = {
        {.payloadType = NVTX_PAYLOAD_TYPE_INT64, .payload.llValue = -5000000000},
        {.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE, .payload.dValue = 0.375},
        {.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, .payload.uiValue = 4000000000u},
        {.payloadType = NVTX_PAYLOAD_TYPE_INT32, .payload.iValue = -3},
        {.payloadType = NVTX_PAYLOAD_TYPE_FLOAT, .payload.fValue = -0.5f}};
    nvtxEventAttributes_t attributes = attributes_of(NVTX_MESSAGE_TYPE_ASCII);
    struct bounds mark;
    char name[16];

    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++) {
        snprintf(name, sizeof(name), "number %d", i);
        attributes.message.ascii = name;
        attributes.payloadType = numbers[i].payloadType;
        attributes.payload = numbers[i].payload;
        TIMED(mark.begin, nvtxDomainMarkEx(domain, &attributes));
        memcpy(mark.end, mark.begin, sizeof(mark.end));
        note(name, "model", thread_id(), &mark);
    }
}

static int step(int number, nvtxDomainHandle_t domain, nvtxStringHandle_t forward)
{
    nvtxEventAttributes_t registered = attributes_of(NVTX_MESSAGE_TYPE_REGISTERED),
                          plain = attributes_of(NVTX_MESSAGE_TYPE_ASCII);
    struct bounds whole, first, second, third;
    char name[16];
    int errors = 0;

    snprintf(name, sizeof(name), "step %d", number);
    registered.message.registered = forward;
    plain.message.ascii = "optimizer";
    TIMED(whole.begin, errors += nvtxRangePushA(name) != NVTX_NO_PUSH_POP_TRACKING);
    TIMED(first.begin, errors += nvtxDomainRangePushEx(domain, &registered) != NVTX_NO_PUSH_POP_TRACKING);
    errors += cudaMemset(memory, number, 4096) != cudaSuccess;
    // Ranges of two domains need not nest.
    TIMED(second.begin, errors += nvtx_library_begin("backward") != NVTX_NO_PUSH_POP_TRACKING);
    TIMED(first.end, errors += nvtxDomainRangePop(domain) != NVTX_NO_PUSH_POP_TRACKING);
    errors += cudaMemset(memory, 0, 1024) != cudaSuccess;
    TIMED(second.end, errors += nvtx_library_end() != NVTX_NO_PUSH_POP_TRACKING);
    TIMED(third.begin, errors += nvtxRangePushEx(&plain) != NVTX_NO_PUSH_POP_TRACKING);
    TIMED(third.end, errors += nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING);
    TIMED(whole.end, errors += nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING);
    note(name, "", thread_id(), &whole);
    note("forward", "model", thread_id(), &first);
    note("backward", "", thread_id(), &second);
    note("optimizer", "", thread_id(), &third);
    return errors;
}

static nvtxRangeId_t epoch;
static struct bounds epoch_bounds;

static void *end_epoch(void *unused)
{
    struct bounds mark;

    (void)unused;
    nvtxNameOsThreadA(thread_id(), "the loader");
    fprintf(truth, "thread,the loader,%u\n", thread_id());
    TIMED(mark.begin, nvtxMarkA("last batch"));
    memcpy(mark.end, mark.begin, sizeof(mark.end));
    note("last batch", "", thread_id(), &mark);
    TIMED(epoch_bounds.end, nvtxRangeEnd(epoch));
    return NULL;
}

int main(int argc, char **argv)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
    nvtxStringHandle_t forward = nvtxDomainRegisterStringA(domain, "forward");
    struct bounds unpopped, wide;
    cudaStream_t stream = NULL;
    pthread_t thread;
    int errors = 0;

    truth = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!truth || cudaMalloc(&memory, 4096) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess)
        return 1;
    nvtxNameCudaStreamA(stream, "copies");
    nvtxNameCudaDeviceA(0, "the first");
    nvtxDomainNameCategoryA(domain, 7, "layers");
    errors += nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING; // there is none
    TIMED(wide.begin, nvtxRangePushW(L"gr\u00f6\u00dfe"));
    TIMED(wide.end, nvtxRangePop());
    note("gr\u00f6\u00dfe", "", thread_id(), &wide);
    TIMED(epoch_bounds.begin, epoch = nvtxRangeStartA("epoch"));
    for (int i = 0; i < STEPS; i++)
        errors += step(i, domain, forward);
    mark_numbers(domain);
    pthread_create(&thread, NULL, end_epoch, NULL);
    pthread_join(thread, NULL);
    note("epoch", "", thread_id(), &epoch_bounds);
    TIMED(unpopped.begin, nvtxRangePushA("never ended"));
    unpopped.end[0] = now_ns();
    unpopped.end[1] = UINT64_MAX;
    note("never ended", "", thread_id(), &unpopped);
    cudaDeviceSynchronize();
    nvtxDomainDestroy(domain);
    fclose(truth);
    printf("unexpected answers: %d\n", errors);
    return 0;
}
