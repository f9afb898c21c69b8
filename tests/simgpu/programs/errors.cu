// Errors of arguments: what is returned, that it is remembered once, for this thread only, and that work goes on after
// it.
#include <cstring>
#include <thread>

#include "program.h"

int main()
{
    const size_t bytes = 4096;
    void *device = nullptr;
    cudaEvent_t untimed, timed;
    float ms;

    EXPECT(!std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    EXPECT(std::strlen(cudaGetErrorString(cudaErrorMemoryAllocation)) > 0);
    EXPECT(std::strcmp(cudaGetErrorString(static_cast<cudaError_t>(12345)), cudaGetErrorString(cudaErrorUnknown)));
    CHECK(cudaFree(nullptr));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&timed));
    for (int step = 0; step < 20; step++) {
        CHECK_FAILS(cudaMalloc(nullptr, bytes), cudaErrorInvalidValue);
        std::thread other([] { CHECK(cudaPeekAtLastError()); });
        other.join();
        CHECK_FAILS(cudaPeekAtLastError(), cudaErrorInvalidValue);
        CHECK_FAILS(cudaGetLastError(), cudaErrorInvalidValue);
        CHECK(cudaGetLastError());

        void *huge = nullptr;
        CHECK_FAILS(cudaMalloc(&huge, static_cast<size_t>(1) << 52), cudaErrorMemoryAllocation);
        CHECK_FAILS(cudaGetLastError(), cudaErrorMemoryAllocation);

        spin_ns<<<1, 2048>>>(1000);
        CHECK_FAILS(cudaGetLastError(), cudaErrorInvalidConfiguration);
        spin_ns<<<0, 32>>>(1000);
        CHECK_FAILS(cudaGetLastError(), cudaErrorInvalidConfiguration);
        CHECK_FAILS(cudaLaunchKernel(static_cast<const void *>(device), dim3(1), dim3(1), nullptr, 0, nullptr),
                    cudaErrorInvalidDeviceFunction);
        CHECK_FAILS(cudaMemcpy(device, &device, 8, static_cast<cudaMemcpyKind>(77)), cudaErrorInvalidMemcpyDirection);
        CHECK_FAILS(cudaEventElapsedTime(&ms, untimed, timed), cudaErrorInvalidResourceHandle);
        // An error does not stop what is right.
        CHECK(cudaMemset(device, step, bytes));
        spin_ns<<<1, 32>>>(5000);
        CHECK(cudaDeviceSynchronize());
        CHECK_FAILS(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    }
    CHECK_FAILS(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    CHECK_FAILS(cudaFree(&ms), cudaErrorInvalidValue);
    int value;
    CHECK_FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99), cudaErrorInvalidDevice);
    (void)cudaGetLastError();
    CHECK(cudaEventDestroy(untimed));
    CHECK(cudaEventDestroy(timed));
    CHECK(cudaFree(device));
    // After a reset the runtime starts over.
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&device, bytes));
    spin_ns<<<1, 32>>>(5000);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device));
    return 0;
}
