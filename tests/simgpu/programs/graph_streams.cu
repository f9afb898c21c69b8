// One executable graph launched on several streams: its replays follow each other all the same.
#include "program.h"

int main()
{
    enum { STREAMS = 3, ROUNDS = 20 };
    cudaStream_t streams[STREAMS];
    cudaEvent_t begin[STREAMS], end[STREAMS];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&begin[i]));
        CHECK(cudaEventCreate(&end[i]));
    }
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    spin_ns<<<4, 64, 0, streams[0]>>>(100000);
    spin_ns<<<4, 64, 0, streams[0]>>>(50000);
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < ROUNDS; round++) {
        float ms = 0;
        for (int i = 0; i < STREAMS; i++) {
            CHECK(cudaEventRecord(begin[i], streams[i]));
            CHECK(cudaGraphLaunch(exec, streams[i]));
            CHECK(cudaEventRecord(end[i], streams[i]));
        }
        CHECK(cudaDeviceSynchronize());
        // The last one waits for the two before.
        CHECK(cudaEventElapsedTime(&ms, begin[0], end[STREAMS - 1]));
        EXPECT(ms > 0.44f);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
