// Host functions and callbacks run in stream order, between the operations round them, and later work waits for them.
#include <atomic>

#include "program.h"

struct Step {
    const unsigned char *buffer; // downloaded before the function runs
    int seen;
    cudaError_t status;
};

static void look(void *argument)
{
    Step *step = static_cast<Step *>(argument);
    step->seen = step->buffer[0];
}

static void CUDART_CB called_back(cudaStream_t, cudaError_t status, void *argument)
{
    static_cast<Step *>(argument)->status = status;
}

static std::atomic<int> finished;

static void finish(void *)
{
    finished++;
}

int main()
{
    const size_t bytes = 1 << 12;
    const int steps = 30;
    unsigned char *host, *device;
    cudaStream_t stream, other;
    cudaEvent_t done;
    std::vector<Step> log(steps);

    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int step = 0; step < steps; step++) {
        log[step] = {host, -1, cudaErrorUnknown};
        CHECK(cudaMemsetAsync(device, step, bytes, stream));
        spin_ns<<<1, 32, 0, stream>>>(10000);
        CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaLaunchHostFunc(stream, look, &log[step]));
        CHECK(cudaStreamAddCallback(stream, called_back, &log[step], 0));
        CHECK(cudaEventRecord(done, stream));
        CHECK(cudaStreamWaitEvent(other, done, 0));
        CHECK(cudaLaunchHostFunc(other, finish, nullptr));
        if (step % 10 == 9) {
            CHECK(cudaStreamSynchronize(other));
            EXPECT(finished == step + 1);
        }
    }
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < steps; step++) {
        EXPECT(log[step].seen == step);
        EXPECT(log[step].status == cudaSuccess);
    }
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return 0;
}
