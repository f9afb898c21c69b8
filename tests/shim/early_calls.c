/*
 * early_calls RUNTIME: run with slow_loader.c preloaded. While one thread's first call loads the tracer, another one
 * makes calls that end before the tracer is there, then one that begins before and ends after, with calls nested in
 * it; then one as usual. Prints how many calls of the first kind there were.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

#define CALLS_TOO_EARLY 3

static void *driver;
static pthread_t loading;

static int initialise(void)
{
    return ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
}

static void *load(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)initialise();
}

// Called within the allocation.
static void let_the_tracer_load(void)
{
    void (*release)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "slow_loader_release");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*make_current)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    void *context = NULL;

    release();
    pthread_join(loading, NULL);
    if (retain(&context, 0) != 0 || make_current(context) != 0)
        fprintf(stderr, "no context\n");
}

int main(int argc, char **argv)
{
    void *runtime = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (**wait)(void) = runtime ? (void (**)(void))dlsym(runtime, "gated_runtime_wait") : NULL;
    int (*allocate)(void **, size_t) = runtime ? (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc") : NULL;
    int (*holds)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "slow_loader_holds");
    int (*count)(int *);
    void *memory;
    int devices;

    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    count = driver ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
    if (!wait || !allocate || !holds || !count) {
        fprintf(stderr, "not run as it wants to be\n");
        return 2;
    }
    if (pthread_create(&loading, NULL, load, NULL) != 0)
        return 1;
    while (!holds())
        sched_yield();
    for (int i = 0; i < CALLS_TOO_EARLY; i++)
        count(&devices);
    *wait = let_the_tracer_load;
    if (allocate(&memory, 4096) != 0)
        return 1;
    *wait = NULL;
    if (allocate(&memory, 4096) != 0)
        return 1;
    printf("%d\n", CALLS_TOO_EARLY);
    return 0;
}
