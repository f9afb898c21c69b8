/*
 * stress [opened]: many threads that look up, open, close, fork and call at once for a while: nothing may fail, hang or
 * be lost. `opened`: the libraries stay open, because ThreadSanitizer's own dlopen and dlclose block each other for
 * ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 64
#define ROUNDS 40

static atomic_int opens, lookups, forks, calls, failures;
static void *kept[2]; // the libraries, where they stay open
static bool keep;

static const char *const libraries[] = {"libcudart.so.12", "libcudart.so.13"};

static void look_up(const char *library)
{
    void *handle = keep ? kept[library == libraries[1]] : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int (*version)(int *) = handle ? (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion") : NULL;
    int value = 0;

    failures += !version || version(&value) != 0 || value == 0;
    lookups += dlsym(RTLD_DEFAULT, "no_such_function") == NULL;
    opens += handle && (keep || dlclose(handle) == 0);
}

static void call(void *runtime)
{
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlsym(runtime, "cudaFree");
    int (*set)(void *, int, size_t) = (int (*)(void *, int, size_t))dlsym(runtime, "cudaMemset");
    void *memory = NULL;

    failures += !allocate || !release || !set || allocate(&memory, 256) != 0 || set(memory, 0, 256) != 0 ||
                release(memory) != 0;
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
    void *runtime = keep ? kept[1] : dlopen(libraries[1], RTLD_NOW | RTLD_LOCAL);

    for (int i = 0; runtime && i < ROUNDS; i++) {
        switch (((intptr_t)number + i) % 4) {
        case 0:
            look_up(libraries[0]);
            break;
        case 1:
            look_up(libraries[1]);
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

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    keep = argc == 2 && strcmp(argv[1], "opened") == 0;
    for (int i = 0; i < 2 && keep; i++)
        kept[i] = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("opens %d, lookups %d, forks %d, calls %d, failures %d\n", opens, lookups, forks, calls, failures);
    return 0;
}
