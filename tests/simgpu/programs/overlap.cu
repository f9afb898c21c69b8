// Pinned buffers, three streams, events between them: upload, compute and download of different chunks overlap.
#include "program.h"

int main()
{
    const int streams = 3;
    const size_t count = 1 << 15;
    unsigned *host[streams], *back[streams], *device[streams], *copy[streams];
    cudaStream_t stream[streams];
    cudaEvent_t uploaded[streams], begin[streams], end[streams];

    for (int i = 0; i < streams; i++) {
        CHECK(cudaMallocHost(&host[i], count * sizeof(unsigned)));
        CHECK(cudaHostAlloc(&back[i], count * sizeof(unsigned), cudaHostAllocDefault));
        CHECK(cudaMalloc(&device[i], count * sizeof(unsigned)));
        CHECK(cudaMalloc(&copy[i], count * sizeof(unsigned)));
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&uploaded[i], cudaEventDisableTiming));
        CHECK(cudaEventCreate(&begin[i]));
        CHECK(cudaEventCreate(&end[i]));
    }
    for (unsigned step = 0; step < 30; step++) {
        for (int i = 0; i < streams; i++) {
            for (size_t j = 0; j < count; j++)
                host[i][j] = step * 1000u + static_cast<unsigned>(i) + static_cast<unsigned>(j);
            CHECK(cudaMemcpyAsync(device[i], host[i], count * sizeof(unsigned), cudaMemcpyHostToDevice, stream[i]));
            CHECK(cudaEventRecord(uploaded[i], stream[i]));
            CHECK(cudaEventRecord(begin[i], stream[i]));
            spin_ns<<<32, 128, 0, stream[i]>>>(30000ull * (i + 1));
            CHECK(cudaEventRecord(end[i], stream[i]));
        }
        for (int i = 0; i < streams; i++) {
            // The neighbour's upload is read once it has arrived.
            int from = (i + 1) % streams;
            CHECK(cudaStreamWaitEvent(stream[i], uploaded[from], 0));
            CHECK(
                cudaMemcpyAsync(copy[i], device[from], count * sizeof(unsigned), cudaMemcpyDeviceToDevice, stream[i]));
            CHECK(cudaMemcpyAsync(back[i], copy[i], count * sizeof(unsigned), cudaMemcpyDeviceToHost, stream[i]));
        }
        for (int i = 0; i < streams; i++) {
            CHECK(cudaStreamSynchronize(stream[i]));
            float ms = 0;
            CHECK(cudaEventElapsedTime(&ms, begin[i], end[i]));
            EXPECT(ms >= 0.029f * static_cast<float>(i + 1));
            EXPECT(back[i][0] == step * 1000u + static_cast<unsigned>((i + 1) % streams));
            EXPECT(back[i][count - 1] == back[i][0] + count - 1);
        }
    }
    for (int i = 0; i < streams; i++) {
        CHECK(cudaEventDestroy(uploaded[i]));
        CHECK(cudaEventDestroy(begin[i]));
        CHECK(cudaEventDestroy(end[i]));
        CHECK(cudaStreamDestroy(stream[i]));
        CHECK(cudaFreeHost(host[i]));
        CHECK(cudaFreeHost(back[i]));
        CHECK(cudaFree(device[i]));
        CHECK(cudaFree(copy[i]));
    }
    return 0;
}
