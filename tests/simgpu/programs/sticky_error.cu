// A kernel that traps breaks the context: every later call says so, and reading the error does not clear it.
#include "program.h"

__global__ void trap_kernel(int really)
{
    if (really)
        asm volatile("trap;");
}

int main()
{
    void *device = nullptr;
    cudaError_t broken = cudaSuccess;

    CHECK(cudaMalloc(&device, 4096));
    // The simulated GPU is configured to fail the sixth launch.
    for (int step = 1; step <= 6; step++) {
        trap_kernel<<<1, 32>>>(step == 6);
        broken = cudaGetLastError();
        if (broken == cudaSuccess)
            broken = cudaDeviceSynchronize();
        EXPECT((broken == cudaSuccess) == (step < 6));
    }
    EXPECT(broken == cudaErrorLaunchFailure || broken == cudaErrorIllegalInstruction);
    CHECK_FAILS(cudaDeviceSynchronize(), broken);
    CHECK_FAILS(cudaMemset(device, 0, 4096), broken);
    CHECK_FAILS(cudaGetLastError(), broken);
    CHECK_FAILS(cudaGetLastError(), broken);
    spin_ns<<<1, 1>>>(1000);
    CHECK_FAILS(cudaGetLastError(), broken);
    return 0;
}
