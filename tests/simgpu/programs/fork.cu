// A child of a process that used CUDA cannot use it and is told so; a child forked before can; the parent goes on.
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static int child_status(pid_t child)
{
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void one_step(unsigned char value)
{
    unsigned char *device, back = 0;
    CHECK(cudaMalloc(&device, 1024));
    CHECK(cudaMemset(device, value, 1024));
    spin_ns<<<1, 32>>>(10000);
    CHECK(cudaMemcpy(&back, device + 1023, 1, cudaMemcpyDeviceToHost));
    EXPECT(back == value);
    CHECK(cudaFree(device));
}

int main()
{
    pid_t child = fork();
    if (child == 0) {
        one_step(3);
        _exit(0);
    }
    EXPECT(child_status(child) == 0);

    for (int step = 0; step < 10; step++)
        one_step(static_cast<unsigned char>(step));
    child = fork();
    if (child == 0) {
        void *pointer = nullptr;
        int count = 0;
        bool refused = cudaMalloc(&pointer, 1024) == cudaErrorInitializationError &&
                       cudaGetDeviceCount(&count) == cudaErrorInitializationError &&
                       cudaGetLastError() == cudaErrorInitializationError;
        _exit(refused ? 0 : 1);
    }
    EXPECT(child_status(child) == 0);
    for (int step = 0; step < 10; step++)
        one_step(static_cast<unsigned char>(100 + step));
    return 0;
}
