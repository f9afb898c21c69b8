/* Every collective, type and reduction, messages and splits, with their results checked. Data is set through copies, so
 * that it runs on a simulated GPU.
 *   collectives_check [threads|processes|group RANKS]       two threads where nothing is said */
#include "tests/simgpu/programs/program.h"

#include <cstring>
#include <nccl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define NCCL(call)                                                                                                     \
    do {                                                                                                               \
        ncclResult_t nccl_result = (call);                                                                             \
        if (nccl_result != ncclSuccess) {                                                                              \
            std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, ncclGetErrorString(nccl_result),   \
                         ncclGetLastError(NULL));                                                                      \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

static const int count = 1000;

struct rank {
    int number, size;
    ncclComm_t comm;
    cudaStream_t stream;
    char *send, *recv;
    size_t bytes;
};

/* What rank `number` gives at `i`: small integers, exact in every type, products of four too. */
static double given(int number, int i)
{
    return (number + i) % 3 + 1;
}

static double reduced(int operation, int size, int i)
{
    double value = given(0, i);
    for (int r = 1; r < size; r++) {
        const double other = given(r, i);
        if (operation == ncclProd)
            value *= other;
        else if (operation == ncclMax)
            value = value > other ? value : other;
        else if (operation == ncclMin)
            value = value < other ? value : other;
        else
            value += other;
    }
    return operation == ncclAvg ? value / size : value;
}

template <typename T> struct type_of;
#define TYPE(type, name)                                                                                               \
    template <> struct type_of<type> {                                                                                 \
        static const ncclDataType_t value = name;                                                                      \
        static const bool is_integer = false;                                                                          \
    };
#define INTEGER(type, name)                                                                                            \
    template <> struct type_of<type> {                                                                                 \
        static const ncclDataType_t value = name;                                                                      \
        static const bool is_integer = true;                                                                           \
    };
INTEGER(signed char, ncclInt8)
INTEGER(unsigned char, ncclUint8)
INTEGER(int, ncclInt32)
INTEGER(unsigned, ncclUint32)
INTEGER(long long, ncclInt64)
INTEGER(unsigned long long, ncclUint64)
TYPE(float, ncclFloat32)
TYPE(double, ncclFloat64)
TYPE(__half, ncclFloat16)
TYPE(__nv_bfloat16, ncclBfloat16)

template <typename T> static T make(double value)
{
    return T((float)value);
}

template <typename T> static void put(const rank &me, const std::vector<T> &values)
{
    CHECK(cudaMemcpyAsync(me.send, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, me.stream));
    CHECK(cudaMemsetAsync(me.recv, 0x5a, me.bytes, me.stream));
}

template <typename T> static std::vector<T> get(const rank &me, size_t values)
{
    std::vector<T> result(values);
    CHECK(cudaMemcpyAsync(result.data(), me.recv, values * sizeof(T), cudaMemcpyDeviceToHost, me.stream));
    CHECK(cudaStreamSynchronize(me.stream));
    return result;
}

template <typename T> static void expect(const char *what, const rank &me, T have, double want, int i)
{
    const double wanted = (double)(float)make<T>(want), had = (double)(float)have;
    if (had - wanted < 1e-6 && wanted - had < 1e-6)
        return;
    std::fprintf(stderr, "%s, type %d, rank %d of %d, element %d: %g instead of %g\n", what, (int)type_of<T>::value,
                 me.number, me.size, i, had, wanted);
    std::exit(1);
}

template <typename T> static std::vector<T> mine(const rank &me, int values)
{
    std::vector<T> result(values);
    for (int i = 0; i < values; i++)
        result[i] = make<T>(given(me.number, i));
    return result;
}

template <typename T> static void check_reductions(const rank &me)
{
    const ncclDataType_t type = type_of<T>::value;
    for (int operation = 0; operation < ncclNumOps; operation++) {
        const ncclRedOp_t op = (ncclRedOp_t)operation;
        auto want = [&](int i) {
            const double value = reduced(operation, me.size, i);
            return operation == ncclAvg && type_of<T>::is_integer ? (double)(long long)value : value;
        };
        put(me, mine<T>(me, count));
        NCCL(ncclAllReduce(me.send, me.recv, count, type, op, me.comm, me.stream));
        std::vector<T> all = get<T>(me, count);
        for (int i = 0; i < count; i++)
            expect("all-reduce", me, all[i], want(i), i);
        NCCL(ncclAllReduce(me.send, me.send, count, type, op, me.comm, me.stream));
        CHECK(cudaMemcpyAsync(me.recv, me.send, count * sizeof(T), cudaMemcpyDeviceToDevice, me.stream));
        all = get<T>(me, count);
        expect("all-reduce in place", me, all[count - 1], want(count - 1), count - 1);
        put(me, mine<T>(me, count));
        const int root = operation % me.size;
        NCCL(ncclReduce(me.send, me.recv, count, type, op, root, me.comm, me.stream));
        if (me.number == root) {
            all = get<T>(me, count);
            for (int i = 0; i < count; i++)
                expect("reduce", me, all[i], want(i), i);
        }
        put(me, mine<T>(me, count * me.size));
        NCCL(ncclReduceScatter(me.send, me.recv, count, type, op, me.comm, me.stream));
        all = get<T>(me, count);
        for (int i = 0; i < count; i++)
            expect("reduce-scatter", me, all[i], want(i + me.number * count), i);
    }
}

template <typename T> static void check_scaled(const rank &me)
{
    T factor = make<T>(me.number + 1);
    ncclRedOp_t op;
    NCCL(ncclRedOpCreatePreMulSum(&op, &factor, type_of<T>::value, ncclScalarHostImmediate, me.comm));
    put(me, mine<T>(me, count));
    NCCL(ncclAllReduce(me.send, me.recv, count, type_of<T>::value, op, me.comm, me.stream));
    NCCL(ncclRedOpDestroy(op, me.comm));
    std::vector<T> all = get<T>(me, count);
    for (int i = 0; i < count; i++) {
        double want = 0;
        for (int r = 0; r < me.size; r++)
            want += (r + 1) * given(r, i);
        expect("pre-multiplied sum", me, all[i], want, i);
    }
}

static void check_moves(const rank &me)
{
    std::vector<float> all;
    for (int root = 0; root < me.size; root++) {
        put(me, mine<float>(me, count));
        NCCL(ncclBroadcast(me.send, me.recv, count, ncclFloat, root, me.comm, me.stream));
        all = get<float>(me, count);
        for (int i = 0; i < count; i++)
            expect("broadcast", me, all[i], given(root, i), i);
#if NCCL_VERSION_CODE >= 22800
        put(me, mine<float>(me, count));
        NCCL(ncclGather(me.send, me.recv, count, ncclFloat, root, me.comm, me.stream));
        if (me.number == root) {
            all = get<float>(me, count * me.size);
            for (int i = 0; i < count * me.size; i++)
                expect("gather", me, all[i], given(i / count, i % count), i);
        }
        put(me, mine<float>(me, count * me.size));
        NCCL(ncclScatter(me.send, me.recv, count, ncclFloat, root, me.comm, me.stream));
        all = get<float>(me, count);
        for (int i = 0; i < count; i++)
            expect("scatter", me, all[i], given(root, me.number * count + i), i);
#endif
    }
    put(me, mine<float>(me, count));
    NCCL(ncclAllGather(me.send, me.recv, count, ncclFloat, me.comm, me.stream));
    all = get<float>(me, count * me.size);
    for (int i = 0; i < count * me.size; i++)
        expect("all-gather", me, all[i], given(i / count, i % count), i);
#if NCCL_VERSION_CODE >= 22800
    put(me, mine<float>(me, count * me.size));
    NCCL(ncclAlltoAll(me.send, me.recv, count, ncclFloat, me.comm, me.stream));
    all = get<float>(me, count * me.size);
    for (int i = 0; i < count * me.size; i++)
        expect("all-to-all", me, all[i], given(i / count, me.number * count + i % count), i);
#endif
}

/* Round the ring, then everybody to everybody, oneself included. */
static void check_messages(const rank &me)
{
    const int next = (me.number + 1) % me.size, before = (me.number + me.size - 1) % me.size;
    std::vector<float> all;
    for (int round = 0; round < 20; round++) { /* more than there are slots for */
        put(me, mine<float>(me, count));
        NCCL(ncclGroupStart());
        NCCL(ncclSend(me.send, count, ncclFloat, next, me.comm, me.stream));
        NCCL(ncclRecv(me.recv, count, ncclFloat, before, me.comm, me.stream));
        NCCL(ncclGroupEnd());
        all = get<float>(me, count);
        for (int i = 0; i < count; i++)
            expect("ring", me, all[i], given(before, i), i);
    }
    put(me, mine<float>(me, count));
    NCCL(ncclGroupStart());
    for (int peer = 0; peer < me.size; peer++) {
        NCCL(ncclSend(me.send, count, ncclFloat, peer, me.comm, me.stream));
        NCCL(ncclRecv(me.recv + peer * count * sizeof(float), count, ncclFloat, peer, me.comm, me.stream));
    }
    NCCL(ncclGroupEnd());
    all = get<float>(me, count * me.size);
    for (int i = 0; i < count * me.size; i++)
        expect("everybody", me, all[i], given(i / count, i % count), i);
}

/* Many at once, and larger than what is carried out at once. */
static void check_many(const rank &me)
{
    const int big = (int)(me.bytes / sizeof(float));
    std::vector<float> all;
    put(me, mine<float>(me, big));
    for (int i = 0; i < 100; i++)
        NCCL(ncclAllReduce(me.send, me.recv, i % 10 ? count : big, ncclFloat, ncclMax, me.comm, me.stream));
    NCCL(ncclAllReduce(me.send, me.recv, big, ncclFloat, ncclSum, me.comm, me.stream));
    all = get<float>(me, big);
    for (int i = 0; i < big; i++)
        expect("many", me, all[i], reduced(ncclSum, me.size, i), i);
}

static void check_graph(const rank &me)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
    NCCL(ncclAllReduce(me.send, me.send, count, ncclInt, ncclSum, me.comm, me.stream));
    CHECK(cudaStreamEndCapture(me.stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    std::vector<int> ones(count, 1);
    CHECK(cudaMemcpyAsync(me.send, ones.data(), count * sizeof(int), cudaMemcpyHostToDevice, me.stream));
    int want = 1;
    for (int i = 0; i < 3; i++, want *= me.size)
        CHECK(cudaGraphLaunch(exec, me.stream));
    CHECK(cudaMemcpyAsync(me.recv, me.send, count * sizeof(int), cudaMemcpyDeviceToDevice, me.stream));
    EXPECT(get<int>(me, count)[count - 1] == want);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void check_rank(rank &me)
{
    int value;
    NCCL(ncclCommCount(me.comm, &value));
    EXPECT(value == me.size);
    NCCL(ncclCommUserRank(me.comm, &value));
    EXPECT(value == me.number);
    NCCL(ncclCommCuDevice(me.comm, &value));
    EXPECT(value == me.number);
    check_reductions<signed char>(me);
    check_reductions<unsigned char>(me);
    check_reductions<int>(me);
    check_reductions<unsigned>(me);
    check_reductions<long long>(me);
    check_reductions<unsigned long long>(me);
    check_reductions<float>(me);
    check_reductions<double>(me);
    check_reductions<__half>(me);
    check_reductions<__nv_bfloat16>(me);
    check_scaled<float>(me);
    check_scaled<int>(me);
    check_scaled<__nv_bfloat16>(me);
    check_moves(me);
    check_messages(me);
    check_many(me);
    check_graph(me);
}

static void open_rank(rank &me)
{
    me.bytes = 1 << 20;
    CHECK(cudaSetDevice(me.number));
    CHECK(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&me.send, me.bytes));
    CHECK(cudaMalloc(&me.recv, me.bytes));
}

static void run_rank(int number, int size, ncclUniqueId id)
{
    rank me = {number, size, NULL, NULL, NULL, NULL, 0};
    open_rank(me);
    NCCL(ncclCommInitRank(&me.comm, size, id, number));
    check_rank(me);
    /* Even and odd ranks, in the opposite order; the last rank of three or more takes no part. */
    const bool takes_part = size < 3 || number < size - 1;
    rank half = me;
    NCCL(ncclCommSplit(me.comm, takes_part ? number % 2 : NCCL_SPLIT_NOCOLOR, -number, &half.comm, NULL));
    EXPECT((half.comm != NULL) == takes_part);
    if (takes_part) {
        NCCL(ncclCommCount(half.comm, &half.size));
        NCCL(ncclCommUserRank(half.comm, &half.number));
        EXPECT(half.number == half.size - 1 - number / 2);
        check_moves(half);
        check_messages(half);
        NCCL(ncclCommDestroy(half.comm));
    }
    NCCL(ncclCommFinalize(me.comm));
    NCCL(ncclCommDestroy(me.comm));
    CHECK(cudaFree(me.send));
    CHECK(cudaFree(me.recv));
    CHECK(cudaStreamDestroy(me.stream));
}

static int in_threads(int size)
{
    ncclUniqueId id;
    std::vector<std::thread> threads;
    NCCL(ncclGetUniqueId(&id));
    for (int i = 0; i < size; i++)
        threads.emplace_back(run_rank, i, size, id);
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}

/* Forks before anything of CUDA is used; rank 0 makes the id and sends it through pipes. */
static int in_processes(int size)
{
    int pipes[16][2], failures = 0;
    for (int i = 0; i < size; i++)
        EXPECT(pipe(pipes[i]) == 0);
    for (int i = 0; i < size; i++) {
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (child)
            continue;
        ncclUniqueId id;
        if (i == 0)
            NCCL(ncclGetUniqueId(&id));
        for (int j = 1; i == 0 && j < size; j++)
            EXPECT(write(pipes[j][1], &id, sizeof id) == sizeof id);
        if (i)
            EXPECT(read(pipes[i][0], &id, sizeof id) == sizeof id);
        run_rank(i, size, id);
        std::exit(0);
    }
    for (int i = 0; i < size; i++) {
        int status;
        EXPECT(wait(&status) > 0);
        failures += status != 0;
    }
    return failures != 0;
}

/* One thread, several devices. */
static int in_group(int size)
{
    std::vector<ncclComm_t> comms(size), halves(size);
    std::vector<rank> ranks(size);
    NCCL(ncclCommInitAll(comms.data(), size, NULL));
    for (int i = 0; i < size; i++) {
        ranks[i] = {i, size, comms[i], NULL, NULL, NULL, 0};
        open_rank(ranks[i]);
        put(ranks[i], mine<float>(ranks[i], count));
    }
    for (int round = 0; round < 10; round++) {
        NCCL(ncclGroupStart());
        for (rank &me : ranks)
            NCCL(ncclAllReduce(me.send, me.recv, count, ncclFloat, ncclSum, me.comm, me.stream));
        NCCL(ncclGroupEnd());
        for (rank &me : ranks) {
            std::vector<float> all = get<float>(me, count);
            for (int i = 0; i < count; i++)
                expect("group", me, all[i], reduced(ncclSum, size, i), i);
        }
    }
    NCCL(ncclGroupStart());
    for (rank &me : ranks)
        NCCL(ncclCommSplit(me.comm, 0, -me.number, &halves[me.number], NULL));
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
    for (rank &me : ranks)
        NCCL(ncclBroadcast(me.send, me.recv, count, ncclFloat, size - 1, halves[me.number], me.stream));
    NCCL(ncclGroupEnd());
    for (rank &me : ranks)
        expect("group of a split", me, get<float>(me, count)[0], given(0, 0), 0);
    for (int i = 0; i < size; i++) {
        NCCL(ncclCommDestroy(halves[i]));
        NCCL(ncclCommDestroy(comms[i]));
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return in_threads(2);
    const int size = argc == 3 ? std::atoi(argv[2]) : 0;
    if (size < 1 || size > 16)
        return 2;
    if (std::strcmp(argv[1], "threads") == 0)
        return in_threads(size);
    if (std::strcmp(argv[1], "processes") == 0)
        return in_processes(size);
    return in_group(size);
}
