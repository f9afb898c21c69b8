/*
 * The whole step is captured into a graph once and launched once a step; the host waits only for the step before last,
 * so the GPU never runs dry. Nothing is wrong: gpuwitness must confirm nothing.
 */
#include "example.h"

enum { STEPS = 60, LAYERS = 8, BLOCKS = 64, THREADS = 128 };

__global__ void forward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void backward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void optimizer_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

int main(void)
{
    float *data;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t done[2];

    CHECK(cudaMalloc((void **)&data, BLOCKS * THREADS * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int layer = 0; layer < LAYERS; layer++)
        forward_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(60000, data);
    for (int layer = 0; layer < LAYERS; layer++)
        backward_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(110000, data);
    optimizer_spin_ns<<<BLOCKS, THREADS, 0, stream>>>(90000, data);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    for (int step = 0; step < STEPS; step++) {
        CHECK(cudaEventSynchronize(done[step % 2]));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(done[step % 2], stream));
    }
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventDestroy(done[i]));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    printf("graph_loop: %d steps\n", STEPS);
    return 0;
}
