/* A device that is reset again and again, with streams and work each time. */
#include "program.h"

int main()
{
    const size_t bytes = 256 << 10;
    for (int round = 0; round < 12; round++) {
        cudaStream_t stream;
        unsigned char *memory, back = 0;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&memory, bytes));
        for (int i = 0; i < 10; i++) {
            spin_ns<<<4, 64, 0, stream>>>(20000);
            CHECK(cudaMemsetAsync(memory, round, bytes, stream));
        }
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(&back, memory + bytes - 1, 1, cudaMemcpyDeviceToHost));
        EXPECT(back == round);
        CHECK(cudaDeviceReset());
    }
    return 0;
}
