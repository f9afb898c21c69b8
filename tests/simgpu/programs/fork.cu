// A child of a process that used CUDA cannot use it and is told so; a child forked before can; the parent goes on.
#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "program.h"

__global__ void never_in_parent()
{
}

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
    // The same while another thread is inside CUDA, with a kernel the parent never launched, ended by exit().
    std::atomic<bool> stop(false);
    std::thread busy([&stop] {
        for (int step = 0; step < 300 && !stop; step++)
            one_step(7);
    });
    for (int round = 0; round < 5; round++) {
        child = fork();
        if (child == 0) {
            never_in_parent<<<1, 32>>>();
            std::exit(cudaGetLastError() == cudaErrorInitializationError ? 0 : 1);
        }
        EXPECT(child_status(child) == 0);
    }
    stop = true;
    busy.join();
    for (int step = 0; step < 10; step++)
        one_step(static_cast<unsigned char>(100 + step));
    return 0;
}
