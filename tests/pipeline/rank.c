/* One rank of a job whose ranks are started apart: rank FOLDER STEPS, with RANK and WORLD_SIZE as launchers set them.
 * The id of the communicator goes from rank 0 to rank N through the pipe FOLDER/N. The ranks reduce once a step, and
 * take turns at being late. With a third argument N, rank 1 kills itself in step N; with `graph`, all reduce by
 * launching a graph. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#define FLOATS (16u << 10)
#define PERIOD_NS 5000000

static void check(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "rank: %s failed\n", what);
    exit(1);
}

static void pass_id(const char *folder, int rank, int size, ncclUniqueId *id)
{
    char path[4096];
    for (int other = rank ? rank : 1; rank ? other == rank : other < size; other++) {
        snprintf(path, sizeof(path), "%s/%d", folder, other);
        const int pipe = open(path, (rank ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        check(pipe < 0, path);
        check((rank ? read(pipe, id, sizeof(*id)) : write(pipe, id, sizeof(*id))) != (ssize_t)sizeof(*id), path);
        close(pipe);
    }
}

/* What a rank does between steps: nothing that is traced. */
static void wait_for_batch(void)
{
    const struct timespec period = {0, PERIOD_NS};
    nanosleep(&period, NULL);
}

int main(int argc, char **argv)
{
    check(argc < 3 || !getenv("RANK") || !getenv("WORLD_SIZE"), "the command line");
    const int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE")), steps = atoi(argv[2]);
    const int has_graph = argc > 3 && strcmp(argv[3], "graph") == 0;
    const int last = argc > 3 && !has_graph && rank == 1 ? atoi(argv[3]) : -1;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t stream;
    float *values;
    char *work;
    check(cudaSetDevice(rank), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMalloc((void **)&values, FLOATS * sizeof(float)) || cudaMalloc((void **)&work, 1 << 20), "cudaMalloc");
    if (rank == 0)
        check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    pass_id(argv[1], rank, size, &id);
    check(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank");
    if (has_graph) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        check(cudaMemsetAsync(work, 0, 1 << 20, stream), "cudaMemsetAsync");
        wait_for_batch(); /* so that both ranks capture at the same time */
        check(ncclAllReduce(values, values, FLOATS, ncclFloat, ncclSum, comm, stream), "ncclAllReduce");
        wait_for_batch();
        check(cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&exec, graph, 0), "cudaStreamEndCapture");
    }
    for (int step = 0; step < steps; step++) {
        if (step == last)
            raise(SIGKILL);
        for (int i = 0; i < (step % size == rank ? 40 : 4); i++)
            check(cudaMemsetAsync(work, step, 1 << 20, stream), "cudaMemsetAsync");
        if (has_graph)
            check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
        else
            check(ncclAllReduce(values, values, FLOATS, ncclFloat, ncclSum, comm, stream), "ncclAllReduce");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        wait_for_batch();
    }
    check(ncclCommDestroy(comm), "ncclCommDestroy");
    puts("rank: done");
    return 0;
}
