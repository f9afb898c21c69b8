/*
 * details TRUTH: makes calls whose records have to say more than that they were made, and writes to the file TRUTH what
 * only the program knows: "gap,AFTER,BEFORE,CPU,FORCED", pauses outside CUDA within [AFTER, BEFORE] on CLOCK_MONOTONIC,
 * of which the thread was at most CPU ns on a processor, which it lost at least FORCED times. Sizes tell calls apart.
 * Prints errno as the calls left it, and results.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BYTES = 64 << 10, STREAMS_MAX = 256, PAUSES = 10 };

static FILE *truth;
static CUdeviceptr memory;
static char *host, *pinned;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void show(const char *what, int result)
{
    int error = errno;

    printf("%s: %d, errno %d\n", what, result, error);
    errno = 0;
}

// The tool's own look at the pinned memory leaves another errno (hurried_driver.c).
static void copy(void)
{
    errno = 0;
    show("from pinned memory", cudaMemcpy((void *)memory, pinned, 4001, cudaMemcpyHostToDevice));
    show("to the host, waited for", cuMemcpyDtoH(pinned, memory, 4002));
    show("to the host, not waited for", cuMemcpyDtoHAsync(pinned, memory, 4003, NULL));
    show("memset that fails", cuMemsetD8Async(memory + (1ull << 40), 1, 4004, NULL));
    show("memset", cuMemsetD8Async(memory, 1, 4005, NULL));
    cuCtxSynchronize();
}

// One that is captured, and one capture that is broken, after which memory is looked at again.
static void capture(void)
{
    CUgraph graph = NULL;
    CUstream stream;

    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    show("captured", cuMemsetD8Async(memory, 2, 5001, stream));
    show("end of the capture", cuStreamEndCapture(stream, &graph));
    show("not captured", cuMemsetD8Async(memory, 2, 5002, stream));
    cuGraphDestroy(graph);
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    show("breaks the capture", cuStreamSynchronize(stream));
    show("end of the broken capture", cuStreamEndCapture(stream, &graph));
    show("after it", cudaMemcpy((void *)memory, host, 5003, cudaMemcpyHostToDevice));
    cuStreamDestroy(stream);
    cudaGetLastError();
}

// Streams until one has the handle of one before it, which was another stream.
static void make_streams(void)
{
    CUstream first, again = NULL;

    cuStreamCreate(&first, CU_STREAM_DEFAULT);
    cuMemsetD8Async(memory, 3, 6001, first);
    cuStreamSynchronize(first);
    cuStreamDestroy(first);
    for (int i = 0; i < STREAMS_MAX && again != first; i++) {
        if (again)
            cuStreamDestroy(again);
        cuStreamCreate(&again, CU_STREAM_NON_BLOCKING);
    }
    show(again == first ? "the same handle" : "other handles", cuMemsetD8Async(memory, 3, 6002, again));
    cuStreamSynchronize(again);
    cuStreamDestroy(again);
}

static void *compete(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        ;
    return NULL;
}

static void note_gap(uint64_t after_ns, uint64_t before_ns, uint64_t cpu_ns, long forced)
{
    fprintf(truth, "gap,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%ld\n", after_ns, before_ns, cpu_ns, forced);
}

// Sleeps after many calls that follow each other: what those took is none of the pause's.
static void sleep_after_calls(void)
{
    CUcontext current;

    for (int i = 0; i < PAUSES; i++) {
        uint64_t begin_ns = read_clock(CLOCK_MONOTONIC);

        while (read_clock(CLOCK_MONOTONIC) < begin_ns + 600000)
            cuCtxGetCurrent(&current);
        uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
        cuCtxGetCurrent(&current);
        uint64_t after_ns = read_clock(CLOCK_MONOTONIC);
        poll(NULL, 0, 3);
        uint64_t before_ns = read_clock(CLOCK_MONOTONIC);
        cuCtxGetCurrent(&current);
        note_gap(after_ns, before_ns, read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns, 0);
    }
}

// Works beside another thread on the same processor until it has lost that once.
static void lose_the_processor(void)
{
    struct rusage before, now;
    CUcontext current;
    pthread_t other;
    cpu_set_t all, one;
    bool stop = false;

    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    pthread_create(&other, NULL, compete, &stop);
    cuCtxGetCurrent(&current);
    uint64_t after_ns = read_clock(CLOCK_MONOTONIC);
    getrusage(RUSAGE_THREAD, &before);
    do
        getrusage(RUSAGE_THREAD, &now);
    while (now.ru_nivcsw == before.ru_nivcsw);
    uint64_t before_ns = read_clock(CLOCK_MONOTONIC);
    cuCtxGetCurrent(&current);
    note_gap(after_ns, before_ns, UINT64_MAX, now.ru_nivcsw - before.ru_nivcsw);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof(all), &all);
}

int main(int argc, char **argv)
{
    truth = argc == 2 ? fopen(argv[1], "w") : NULL;
    host = calloc(1, BYTES);
    if (!truth || !host || cudaMalloc((void **)&memory, BYTES) != cudaSuccess ||
        cudaMallocHost((void **)&pinned, BYTES) != cudaSuccess)
        return 1;
    memset(pinned, 1, BYTES);
    copy();
    capture();
    make_streams();
    sleep_after_calls();
    lose_the_processor();
    cudaDeviceSynchronize();
    free(host);
    return fclose(truth) == 0 ? 0 : 1;
}
