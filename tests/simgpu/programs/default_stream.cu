// A plain loop on the default stream: upload, two kernels, download, compare. Everything is blocking.
#include "program.h"

__global__ void forward_spin_ns(unsigned long long ns, float *, const float *)
{
    spin(ns);
}

int main()
{
    const size_t count = 1 << 14;
    std::vector<float> sent(count), received(count);
    float *device = nullptr;

    CHECK(cudaMalloc(&device, count * sizeof(float)));
    for (int step = 0; step < 40; step++) {
        for (size_t i = 0; i < count; i++)
            sent[i] = static_cast<float>(step * 31 + static_cast<int>(i));
        CHECK(cudaMemcpy(device, sent.data(), count * sizeof(float), cudaMemcpyHostToDevice));
        forward_spin_ns<<<count / 256, 256>>>(20000, device, device);
        spin_ns<<<1, 1>>>(10000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(received.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
        EXPECT(sent == received);
    }
    CHECK(cudaMemset(device, 0x11, count * sizeof(float)));
    unsigned word = 0;
    CHECK(cudaMemcpy(&word, device + count - 1, sizeof word, cudaMemcpyDefault));
    EXPECT(word == 0x11111111u);
    CHECK(cudaFree(device));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
