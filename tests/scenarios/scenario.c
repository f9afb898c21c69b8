#include "tests/scenarios/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/scenarios/kernels.h"

void check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, call, cudaGetErrorString(error));
    exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void think(uint64_t duration_ns)
{
    uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < duration_ns)
        ;
}

static void rest_until(uint64_t end_ns)
{
    const struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

uint64_t slowed(uint64_t duration_ns)
{
    const char *factor = getenv("SCENARIO_SLOW");
    return factor ? (uint64_t)((double)duration_ns * atof(factor)) : duration_ns;
}

void rest(uint64_t duration_ns)
{
    rest_until(now_ns(CLOCK_MONOTONIC) + slowed(duration_ns));
}

static void launch_function(const void *function, cudaStream_t stream, uint64_t duration_ns)
{
    const dim3 blocks = {64, 1, 1}, threads = {128, 1, 1};
    unsigned long long argument = duration_ns;
    void *arguments[] = {&argument};
    CHECK(cudaLaunchKernel(function, blocks, threads, arguments, 0, stream));
}

void launch(enum kernel kernel, cudaStream_t stream, uint64_t duration_ns)
{
    launch_function(kernel_functions[kernel], stream, duration_ns);
}

void launch_trial(unsigned number, cudaStream_t stream, uint64_t duration_ns)
{
    launch_function(trial_functions[number % TRIAL_KERNELS], stream, duration_ns);
}

void launch_many(enum kernel kernel, cudaStream_t stream, unsigned count, uint64_t duration_ns)
{
    for (unsigned i = 0; i < count; i++)
        launch(kernel, stream, duration_ns);
}

/* Spins on the GPU's clock as the kernels of kernels.cu do. */
static const char compiled_text[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                    ".visible .entry compiled_%u_spin_ns(.param .u64 duration)\n"
                                    "{\n"
                                    "    .reg .u64 %%limit, %%begin, %%now;\n"
                                    "    .reg .pred %%early;\n"
                                    "    ld.param.u64 %%limit, [duration];\n"
                                    "    mov.u64 %%begin, %%globaltimer;\n"
                                    "again:\n"
                                    "    mov.u64 %%now, %%globaltimer;\n"
                                    "    sub.u64 %%now, %%now, %%begin;\n"
                                    "    setp.lt.u64 %%early, %%now, %%limit;\n"
                                    "    @%%early bra again;\n"
                                    "    ret;\n"
                                    "}\n";

cudaKernel_t load_kernel(unsigned number, cudaLibrary_t *ret_library)
{
    char text[sizeof(compiled_text) + 16], name[32];
    cudaKernel_t kernel;
    snprintf(text, sizeof(text), compiled_text, number);
    snprintf(name, sizeof(name), "compiled_%u_spin_ns", number);
    CHECK(cudaLibraryLoadData(ret_library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, *ret_library, name));
    return kernel;
}

void launch_loaded(cudaKernel_t kernel, cudaStream_t stream, uint64_t duration_ns)
{
    launch_function(kernel, stream, duration_ns);
}

struct trainer trainer_create(size_t batch_bytes, bool pinned)
{
    struct trainer trainer = {.bytes = batch_bytes, .pinned = pinned};
    CHECK(cudaStreamCreateWithFlags(&trainer.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&trainer.device, batch_bytes));
    CHECK(cudaMalloc((void **)&trainer.loss, sizeof(float)));
    CHECK(cudaMallocHost((void **)&trainer.host_loss, sizeof(float)));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&trainer.uploaded[i], cudaEventDisableTiming));
        if (pinned)
            CHECK(cudaMallocHost((void **)&trainer.host[i], batch_bytes));
        else
            trainer.host[i] = malloc(batch_bytes);
        if (!trainer.host[i]) {
            fprintf(stderr, "out of memory\n");
            exit(1);
        }
        memset(trainer.host[i], i + 1, batch_bytes);
    }
    return trainer;
}

void trainer_destroy(struct trainer *trainer)
{
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventDestroy(trainer->uploaded[i]));
        if (trainer->pinned)
            CHECK(cudaFreeHost(trainer->host[i]));
        else
            free(trainer->host[i]);
    }
    CHECK(cudaFreeHost(trainer->host_loss));
    CHECK(cudaFree(trainer->loss));
    CHECK(cudaFree(trainer->device));
    CHECK(cudaStreamDestroy(trainer->stream));
}

void upload_batch(struct trainer *trainer)
{
    unsigned batch = trainer->batches++;
    unsigned char *host = trainer->host[batch % 2];
    CHECK(cudaEventSynchronize(trainer->uploaded[batch % 2]));
    memcpy(host, &batch, sizeof(batch));
    CHECK(cudaMemcpyAsync(trainer->device, host, trainer->bytes, cudaMemcpyHostToDevice, trainer->stream));
    CHECK(cudaEventRecord(trainer->uploaded[batch % 2], trainer->stream));
}

void read_scalar(struct trainer *trainer)
{
    float value;
    CHECK(cudaMemcpyAsync(&value, trainer->loss, sizeof(value), cudaMemcpyDeviceToHost, trainer->stream));
    CHECK(cudaStreamSynchronize(trainer->stream));
}

static void *load_batches(void *data)
{
    struct loader *loader = data;
    uint64_t next_ns = now_ns(CLOCK_MONOTONIC);
    pthread_mutex_lock(&loader->lock);
    while (!loader->stopped) {
        if (loader->ready == 2) {
            pthread_cond_wait(&loader->changed, &loader->lock);
            next_ns = now_ns(CLOCK_MONOTONIC);
            continue;
        }
        pthread_mutex_unlock(&loader->lock);
        next_ns += loader->period_ns;
        rest_until(next_ns);
        pthread_mutex_lock(&loader->lock);
        loader->ready++;
        pthread_cond_signal(&loader->changed);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

void start_loader(struct loader *loader)
{
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->changed, NULL);
    if (pthread_create(&loader->thread, NULL, load_batches, loader) != 0) {
        fprintf(stderr, "cannot start a thread\n");
        exit(1);
    }
}

void take_batch(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    while (!loader->ready)
        pthread_cond_wait(&loader->changed, &loader->lock);
    loader->ready--;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
}

void stop_loader(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stopped = true;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
    pthread_join(loader->thread, NULL);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->lock);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *option;
        bool faulty, second;
    } variants[] = {
        {"--repaired", false, false}, {"--repaired=first", false, true}, {"--repaired=second", true, false}};
    struct scenario scenario = {.faulty = true, .second = true};
    bool known = argc == 1;
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]) && argc == 2 && !known; i++) {
        known = strcmp(argv[1], variants[i].option) == 0;
        if (known)
            scenario = (struct scenario){.faulty = variants[i].faulty, .second = variants[i].second};
    }
    if (!known) {
        fprintf(stderr, "usage: %s [--repaired[=first|=second]]\n", argv[0]);
        return 2;
    }
    run_scenario(&scenario);
    printf("steps %u\n", scenario.steps);
    return 0;
}
