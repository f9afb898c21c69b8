/* Ranks that give up or die, and misuse: nobody may wait for ever, and everybody must be told.
 *   failures_check [abort|killed]       misuse where nothing is said */
#include "tests/simgpu/programs/program.h"

#include <csignal>
#include <cstring>
#include <nccl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define NCCL(call) EXPECT((call) == ncclSuccess)

struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    float *data;
};

static rank open_rank(int number, int size, ncclUniqueId id)
{
    rank me;
    CHECK(cudaSetDevice(number));
    CHECK(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&me.data, 4096));
    NCCL(ncclCommInitRank(&me.comm, size, id, number));
    return me;
}

/* Until the communicator says that another rank is gone. */
static void wait_for_error(ncclComm_t comm)
{
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess) {
        NCCL(ncclCommGetAsyncError(comm, &error));
        std::this_thread::yield();
    }
    EXPECT(error == ncclRemoteError);
}

/* Rank 1 gives up without taking part in what rank 0 waits for. */
static int abort_one()
{
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    std::thread other([&] {
        rank me = open_rank(1, 2, id);
        NCCL(ncclCommAbort(me.comm));
    });
    rank me = open_rank(0, 2, id);
    NCCL(ncclAllReduce(me.data, me.data, 100, ncclFloat, ncclSum, me.comm, me.stream));
    wait_for_error(me.comm);
    EXPECT(ncclAllReduce(me.data, me.data, 100, ncclFloat, ncclSum, me.comm, me.stream) == ncclRemoteError);
    other.join();
    NCCL(ncclCommAbort(me.comm));
    CHECK(cudaStreamSynchronize(me.stream));
    return 0;
}

/* A process dies in the middle of a loop. The other's stream comes to an end all the same. */
static int kill_one()
{
    int to_child[2], status;
    ncclUniqueId id;
    EXPECT(pipe(to_child) == 0);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        EXPECT(read(to_child[0], &id, sizeof id) == sizeof id);
        rank me = open_rank(1, 2, id);
        for (int i = 0; i < 3; i++)
            NCCL(ncclAllReduce(me.data, me.data, 100, ncclFloat, ncclSum, me.comm, me.stream));
        CHECK(cudaStreamSynchronize(me.stream));
        raise(SIGKILL);
    }
    NCCL(ncclGetUniqueId(&id));
    EXPECT(write(to_child[1], &id, sizeof id) == sizeof id);
    rank me = open_rank(0, 2, id);
    for (int i = 0; i < 5; i++)
        NCCL(ncclAllReduce(me.data, me.data, 100, ncclFloat, ncclSum, me.comm, me.stream));
    CHECK(cudaStreamSynchronize(me.stream));
    wait_for_error(me.comm);
    NCCL(ncclCommAbort(me.comm));
    EXPECT(wait(&status) == child && WIFSIGNALED(status));
    return 0;
}

static int misuse()
{
    ncclUniqueId id, none;
    ncclComm_t comm, pair[2];
    ncclRedOp_t op;
    ncclResult_t result;
    float *data, one = 1;
    int devices[] = {0, 0}, value;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&data, 4096));
    std::memset(&none, 0, sizeof none);
    NCCL(ncclGetVersion(&value));
    EXPECT(value >= 21800);
    EXPECT(ncclGetUniqueId(NULL) == ncclInvalidArgument);
    EXPECT(ncclCommInitRank(&comm, 1, none, 0) == ncclInvalidArgument);
    NCCL(ncclGetUniqueId(&id));
    EXPECT(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
    EXPECT(ncclCommInitAll(pair, 2, devices) == ncclInvalidUsage);
    EXPECT(ncclGroupEnd() == ncclInvalidUsage);
    /* In a thread of its own, two ranks without a group would wait for each other; so they do not block. */
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        result = ncclCommInitRankConfig(&pair[i], 2, id, i, &config);
        EXPECT(result == (i ? ncclSuccess : ncclInProgress));
    }
    NCCL(ncclCommGetAsyncError(pair[0], &result));
    EXPECT(result == ncclSuccess);
    CHECK(cudaSetDevice(0));
    EXPECT(ncclAllReduce(data, data, 1, (ncclDataType_t)99, ncclSum, pair[0], NULL) == ncclInvalidArgument);
    EXPECT(ncclAllReduce(data, data, 1, ncclFloat, (ncclRedOp_t)99, pair[0], NULL) == ncclInvalidArgument);
    EXPECT(ncclAllReduce(NULL, data, 1, ncclFloat, ncclSum, pair[0], NULL) == ncclInvalidArgument);
    EXPECT(ncclBroadcast(data, data, 1, ncclFloat, 2, pair[0], NULL) == ncclInvalidArgument);
    EXPECT(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, NULL, NULL) == ncclInvalidArgument);
    EXPECT(std::strlen(ncclGetLastError(NULL)) > 0);
    EXPECT(std::strlen(ncclGetErrorString(ncclInvalidUsage)) > 0);
    NCCL(ncclGroupStart());
    EXPECT(ncclBroadcast(data, data, 1, ncclFloat, 2, pair[0], NULL) == ncclInvalidArgument);
    EXPECT(ncclGroupEnd() == ncclInvalidArgument);
    NCCL(ncclRedOpCreatePreMulSum(&op, &one, ncclFloat, ncclScalarHostImmediate, pair[0]));
    EXPECT(ncclAllReduce(data, data, 1, ncclInt, op, pair[0], NULL) == ncclInvalidArgument);
    NCCL(ncclRedOpDestroy(op, pair[0]));
    EXPECT(ncclRedOpDestroy(op, pair[0]) == ncclInvalidArgument);
    NCCL(ncclAllReduce(data, data, 0, ncclFloat, ncclSum, pair[0], NULL));
    NCCL(ncclCommDestroy(pair[0]));
    NCCL(ncclCommDestroy(pair[1]));
    NCCL(ncclCommDestroy(NULL));
    return 0;
}

int main(int argc, char **argv)
{
    int devices;
    const char *what = argc == 2 ? argv[1] : "";
    if (std::strcmp(what, "killed") == 0)
        return kill_one();
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return skip("needs two devices");
    return std::strcmp(what, "abort") == 0 ? abort_one() : misuse();
}
