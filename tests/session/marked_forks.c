/*
 * marked_forks CHILDREN: one thread marks ranges without end while another forks; each child calls CUDA and marks a
 * range of its own. Ends with status 1 when a child did not come to its end.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 20
#define TEXT_BYTES 1000 /* takes a while to be compared with a pattern */

static bool ended;

static void *mark(void *unused)
{
    char text[TEXT_BYTES + 1] = "";

    memset(text, 'a', TEXT_BYTES);
    for (unsigned i = 0; !__atomic_load_n(&ended, __ATOMIC_RELAXED); i++) {
        snprintf(text, 16, "%u", i); /* never the same twice */
        text[strlen(text)] = 'a';
        nvtxRangePushA(text);
        nvtxRangePop();
    }
    return unused;
}

static int child(void)
{
    int devices = 0;

    alarm(PATIENCE_S);
    cudaGetDeviceCount(&devices);
    nvtxRangePushA("a range of the child");
    nvtxRangePop();
    return 0;
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 0, devices = 0, failed = 0;
    pthread_t marking;

    cudaGetDeviceCount(&devices);
    nvtxMarkA("first"); // a child of a process in the midst of NVTX's own initialisation would wait for its end
    pthread_create(&marking, NULL, mark, NULL);
    for (int i = 0; i < children && !failed; i++) {
        int status = 1;
        pid_t pid = fork();

        if (pid == 0)
            _exit(child());
        failed = pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    __atomic_store_n(&ended, true, __ATOMIC_RELAXED);
    pthread_join(marking, NULL);
    if (failed)
        fprintf(stderr, "a child did not come to its end\n");
    return failed;
}
