// CUDA_LAUNCH_BLOCKING=1: each launch returns when its kernel has ended; copies stay as they are.
#include "program.h"

int main()
{
    cudaStream_t stream;

    setenv("CUDA_LAUNCH_BLOCKING", "1", 1); // before the driver is there to read it
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 20; i++) {
        spin_ns<<<1, 32, 0, stream>>>(2000000);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamQuery(stream)); // not cudaErrorNotReady
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
