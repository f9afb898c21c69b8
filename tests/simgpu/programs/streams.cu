/* Sixteen streams, blocking and non-blocking ones and with priorities, fed in turns and tied together by events; they
 * are made anew once, with work of the old ones still pending when those are destroyed. */
#include "program.h"

enum { STREAMS = 16, STEPS = 20 };

static void make(cudaStream_t *streams)
{
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < STREAMS; i++)
        CHECK(cudaStreamCreateWithPriority(&streams[i], i % 2 ? cudaStreamNonBlocking : cudaStreamDefault,
                                           i % 4 < 2 ? least : greatest));
}

static void feed(cudaStream_t *streams, unsigned char **memory, unsigned char *host, size_t bytes)
{
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < STREAMS; i++) {
            CHECK(cudaMemcpyAsync(memory[i], host, bytes, cudaMemcpyHostToDevice, streams[i]));
            spin_ns<<<8, 64, 0, streams[i]>>>(5000 + 1000 * i);
            CHECK(cudaMemsetAsync(memory[i], i, bytes, streams[i]));
        }
        for (int i = 1; i < STREAMS; i++) {
            CHECK(cudaEventRecord(done, streams[i]));
            CHECK(cudaStreamWaitEvent(streams[0], done, 0));
        }
        spin_ns<<<1, 32, 0, streams[0]>>>(8000);
        CHECK(cudaStreamSynchronize(streams[0]));
    }
    CHECK(cudaEventDestroy(done));
}

int main()
{
    const size_t bytes = 64 << 10;
    cudaStream_t streams[STREAMS];
    unsigned char *memory[STREAMS], *host;
    CHECK(cudaMallocHost(&host, bytes));
    for (int i = 0; i < STREAMS; i++)
        CHECK(cudaMalloc(&memory[i], bytes));
    for (int round = 0; round < 2; round++) {
        make(streams);
        feed(streams, memory, host, bytes);
        for (int i = 0; i < STREAMS; i++) {
            spin_ns<<<1, 32, 0, streams[i]>>>(30000);
            CHECK(cudaStreamDestroy(streams[i]));
        }
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaMemcpy(host, memory[i], bytes, cudaMemcpyDeviceToHost));
        EXPECT(host[0] == i && host[bytes - 1] == i);
        CHECK(cudaFree(memory[i]));
    }
    CHECK(cudaFreeHost(host));
    return 0;
}
