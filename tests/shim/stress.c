// Many threads that look up, open, close, fork and call at once for a while: nothing may fail, hang or be lost.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 64
#define ROUNDS 40

static atomic_int opens, lookups, forks, calls, failures;

static void look_up(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int (*version)(int *) = handle ? (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion") : NULL;
    int value = 0;

    failures += !version || version(&value) != 0 || value == 0;
    lookups += dlsym(RTLD_DEFAULT, "no_such_function") == NULL;
    opens += handle && dlclose(handle) == 0;
}

static void call(void *runtime)
{
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlsym(runtime, "cudaFree");
    void *memory = NULL;

    failures += !allocate || !release || allocate(&memory, 256) != 0 || release(memory) != 0;
    calls++;
}

static void make_child(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        for (int fd = 100; fd < 140; fd++)
            close(fd);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    forks += child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *work(void *number)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);

    for (int i = 0; runtime && i < ROUNDS; i++) {
        switch (((intptr_t)number + i) % 4) {
        case 0:
            look_up("libcudart.so.12");
            break;
        case 1:
            look_up("libcudart.so.13");
            break;
        case 2:
            call(runtime);
            break;
        default:
            if (i % 16 == 0)
                make_child();
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("opens %d, lookups %d, forks %d, calls %d, failures %d\n", opens, lookups, forks, calls, failures);
    return 0;
}
