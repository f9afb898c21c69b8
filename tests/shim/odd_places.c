/*
 * Calls CUDA where programs rarely do: in constructors and destructors, in handlers of exit and of the end of threads,
 * in signal handlers, in calls that signals interrupt. What arrived at the driver is compared with what was recorded.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIGNALS 20

static atomic_int failures, signals, in_cuda;
static pthread_t main_thread;
static pthread_key_t key;

static void use(void)
{
    void *memory = NULL;

    failures += cudaMalloc(&memory, 4096) != cudaSuccess || cudaMemset(memory, 0, 4096) != cudaSuccess ||
                cudaFree(memory) != cudaSuccess;
}

__attribute__((constructor)) static void before_main(void)
{
    use();
}

__attribute__((destructor)) static void after_main(void)
{
    use();
    if (failures != 0)
        _exit(3);
}

static void at_exit(void)
{
    use();
}

static void at_thread_exit(void *unused)
{
    (void)unused;
    use();
}

static void *set_key(void *unused)
{
    pthread_setspecific(key, &key);
    return unused;
}

static void in_handler(int signal)
{
    int device = 0;

    (void)signal;
    /* CUDA's functions may hold locks where a signal interrupts them, as the simulated driver's do: none is called
     * then. */
    if (!in_cuda)
        failures += cudaGetDevice(&device) != cudaSuccess || device != 0;
    signals++;
}

// While the main thread waits for the stream that this runs in.
static void interrupt_main(void *unused)
{
    (void)unused;
    for (int sent = signals; sent < SIGNALS; sent++) {
        pthread_kill(main_thread, SIGUSR1);
        while (signals <= sent)
            sched_yield();
    }
}

static void be_interrupted(void)
{
    struct sigaction action = {.sa_handler = in_handler}; // without SA_RESTART
    cudaStream_t stream = NULL;

    main_thread = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    failures += cudaStreamCreate(&stream) != cudaSuccess;
    raise(SIGUSR1);
    in_cuda = 1;
    failures += cudaLaunchHostFunc(stream, interrupt_main, NULL) != cudaSuccess;
    failures += cudaStreamSynchronize(stream) != cudaSuccess;
    in_cuda = 0;
    failures += cudaStreamDestroy(stream) != cudaSuccess;
    failures += signals != SIGNALS;
}

int main(void)
{
    pthread_t thread;

    atexit(at_exit);
    pthread_key_create(&key, at_thread_exit);
    failures += pthread_create(&thread, NULL, set_key, NULL) != 0 || pthread_join(thread, NULL) != 0;
    be_interrupted();
    use();
    printf("failures: %d\n", failures);
    return failures != 0;
}
