// Asynchronous copies of pageable memory: the upload is staged before the call returns, so its buffer may be reused at
// once; the download is complete when the call returns. Registered memory behaves as pinned.
#include <cstring>

#include "program.h"

int main()
{
    const size_t bytes = 1 << 16;
    std::vector<unsigned char> source(bytes), target(bytes);
    unsigned char *device = nullptr;
    cudaStream_t stream;
    cudaPointerAttributes attributes;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaPointerGetAttributes(&attributes, source.data()));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    for (int step = 0; step < 30; step++) {
        std::memset(source.data(), step + 1, bytes);
        CHECK(cudaMemcpyAsync(device, source.data(), bytes, cudaMemcpyHostToDevice, stream));
        std::memset(source.data(), 0xEE, bytes);
        spin_ns<<<8, 64, 0, stream>>>(15000);
        CHECK(cudaMemcpyAsync(target.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
        EXPECT(target[0] == step + 1 && target[bytes - 1] == step + 1);
    }
    CHECK(cudaHostRegister(source.data(), bytes, cudaHostRegisterDefault));
    CHECK(cudaPointerGetAttributes(&attributes, source.data()));
    EXPECT(attributes.type == cudaMemoryTypeHost);
    CHECK_FAILS(cudaHostRegister(source.data(), bytes, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    std::memset(source.data(), 0x5A, bytes);
    CHECK(cudaMemcpyAsync(device, source.data(), bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(target.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(target[77] == 0x5A);
    CHECK(cudaHostUnregister(source.data()));
    CHECK_FAILS(cudaHostUnregister(source.data()), cudaErrorHostMemoryNotRegistered);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
