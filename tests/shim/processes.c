// Makes children in every way there is, between CUDA calls, and prints what came of it. The output must be the same
// with the tool and without.
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef int cuda_malloc(void **, size_t);

static int status_of(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int main(void)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    cuda_malloc *allocate = runtime ? (cuda_malloc *)dlsym(runtime, "cudaMalloc") : NULL;
    char *arguments[] = {"true", NULL};
    void *memory;
    pid_t child;

    if (!allocate) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    // Before the parent uses CUDA, a child may.
    child = fork();
    if (child == 0)
        _exit(allocate(&memory, 4096));
    printf("child that uses CUDA first: %d\n", WEXITSTATUS(status_of(child)));

    printf("parent: %d\n", allocate(&memory, 4096));
    if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0)
        printf("spawned: %d\n", status_of(child));
    child = vfork();
    if (child == 0) {
        execvp("true", arguments);
        _exit(127);
    }
    printf("vfork and exec: %d\n", status_of(child));
    printf("system: %d\n", system("exit 5"));

    // CUDA does not work in a child of a process that used it; the call must say so and the child end normally.
    fflush(stdout);
    child = fork();
    if (child == 0) {
        printf("in the child: %d\n", allocate(&memory, 4096));
        exit(6);
    }
    printf("child after CUDA: %d\n", WEXITSTATUS(status_of(child)));
    printf("parent afterwards: %d\n", allocate(&memory, 4096));
    return 3;
}
