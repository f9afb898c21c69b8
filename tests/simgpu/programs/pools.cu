// Stream-ordered allocation: the default pool, a pool of one's own, reuse, statistics, trimming.
#include "program.h"

int main()
{
    const size_t bytes = 1 << 20;
    cudaStream_t stream;
    cudaMemPool_t pool, mine;
    unsigned long long used = 0, reserved = 0;
    unsigned long long keep = ~0ull;
    int supported = 0;

    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    if (!supported)
        return skip("the device has no memory pools");
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    std::vector<unsigned char> host(bytes, 3), back(bytes);
    for (int step = 0; step < 30; step++) {
        unsigned char *a = nullptr, *b = nullptr;
        CHECK(cudaMallocAsync(&a, bytes, stream));
        CHECK(cudaMallocAsync(&b, bytes, stream));
        EXPECT(a && b && a != b);
        CHECK(cudaMemcpyAsync(a, host.data(), bytes, cudaMemcpyHostToDevice, stream));
        spin_ns<<<4, 64, 0, stream>>>(10000);
        CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaFreeAsync(a, stream));
        CHECK(cudaMemcpyAsync(back.data(), b, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(b, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(back == host);
    }
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used == 0);
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    EXPECT(reserved >= 2 * bytes);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    EXPECT(reserved == 0);

    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    CHECK(cudaMemPoolCreate(&mine, &props));
    void *pointer = nullptr;
    CHECK(cudaMallocFromPoolAsync(&pointer, bytes, mine, stream));
    CHECK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used >= bytes);
    CHECK(cudaFreeAsync(pointer, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(mine));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
