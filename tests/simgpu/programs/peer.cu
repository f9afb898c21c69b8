// Two devices: peer access, copies between them, a stream and events of each.
#include "program.h"

int main()
{
    const size_t bytes = 1 << 18;
    int devices = 0, possible = 0, current = -1;
    unsigned char *host, *back, *memory[2];
    cudaStream_t stream[2];
    cudaEvent_t ready[2];

    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return skip("needs two devices");
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc(&memory[i], bytes));
        CHECK(cudaStreamCreate(&stream[i]));
        CHECK(cudaEventCreateWithFlags(&ready[i], cudaEventDisableTiming));
        cudaPointerAttributes attributes;
        CHECK(cudaPointerGetAttributes(&attributes, memory[i]));
        EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == i);
    }
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 1);
    CHECK(cudaDeviceCanAccessPeer(&possible, 0, 1));
    CHECK(cudaSetDevice(0));
    if (possible) {
        CHECK(cudaDeviceEnablePeerAccess(1, 0));
        CHECK_FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
        (void)cudaGetLastError();
    }
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMallocHost(&back, bytes));
    for (int step = 0; step < 25; step++) {
        for (size_t i = 0; i < bytes; i += 4096)
            host[i] = static_cast<unsigned char>(step + 1);
        CHECK(cudaMemcpyAsync(memory[0], host, bytes, cudaMemcpyHostToDevice, stream[0]));
        spin_ns<<<4, 64, 0, stream[0]>>>(15000);
        CHECK(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, bytes, stream[0]));
        CHECK(cudaEventRecord(ready[0], stream[0]));
        CHECK(cudaSetDevice(1));
        CHECK(cudaStreamWaitEvent(stream[1], ready[0], 0));
        spin_ns<<<4, 64, 0, stream[1]>>>(15000);
        CHECK(cudaMemcpyAsync(back, memory[1], bytes, cudaMemcpyDeviceToHost, stream[1]));
        CHECK(cudaStreamSynchronize(stream[1]));
        CHECK(cudaSetDevice(0));
        EXPECT(back[0] == step + 1 && back[4096] == step + 1);
    }
    CHECK(cudaMemset(memory[0], 0x42, bytes));
    CHECK(cudaMemcpyPeer(memory[1], 1, memory[0], 0, bytes));
    CHECK(cudaMemcpy(back, memory[1], bytes, cudaMemcpyDeviceToHost));
    EXPECT(back[bytes - 1] == 0x42);
    CHECK_FAILS(cudaSetDevice(devices), cudaErrorInvalidDevice);
    CHECK_FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
    if (possible)
        CHECK(cudaDeviceDisablePeerAccess(1));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaEventDestroy(ready[i]));
        CHECK(cudaStreamDestroy(stream[i]));
        CHECK(cudaFree(memory[i]));
    }
    CHECK(cudaFreeHost(host));
    CHECK(cudaFreeHost(back));
    return 0;
}
