/* Ranks that exchange at random: gw-random-ranks SEED RANKS STEPS, with at least 4 ranks.
 * Each rank is a thread with a device of its own. All follow one plan (world or half of it, which collective, how much,
 * how many in a group), but each by itself decides on which stream, after how much other work and how late. Prints the
 * plan, one exchange a line: communicator, its ranks, operation, bytes a rank as nccl-tests count them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { RANKS_AT_MOST = 8, STREAMS = 2, FLOATS = 1 << 18, WORLD = 0 };

static unsigned long seed, step_count;
static ncclUniqueId world_id;

/* SplitMix64, after Steele, Lea and Flood. */
static unsigned long next(unsigned long *state)
{
    unsigned long z = (*state += 0x9e3779b97f4a7c15ul);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
    return z ^ (z >> 31);
}

static unsigned below(unsigned long *state, unsigned limit)
{
    return (unsigned)(next(state) % limit);
}

static void check(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "random_ranks: %s failed\n", what);
    exit(1);
}

struct rank {
    unsigned number, size, half, half_rank;
    ncclComm_t comms[3]; /* the world, the half of even or of odd ranks by place of its parity + 1 */
    cudaStream_t streams[STREAMS];
    float *from, *to;
    char *work;
    unsigned long own; /* state of its own decisions */
};

enum operation { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND_RECV, OPERATIONS };
static const char *const names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "send_recv"};

static void exchange(const struct rank *rank, ncclComm_t comm, unsigned own, unsigned size, enum operation operation,
                     size_t count, unsigned root, cudaStream_t stream)
{
    ncclResult_t result = ncclSuccess;
    switch (operation) {
    case ALL_REDUCE:
        result = ncclAllReduce(rank->from, rank->to, count, ncclFloat, ncclSum, comm, stream);
        break;
    case BROADCAST:
        result = ncclBroadcast(rank->from, rank->to, count, ncclFloat, (int)root, comm, stream);
        break;
    case REDUCE:
        result = ncclReduce(rank->from, rank->to, count, ncclFloat, ncclMax, (int)root, comm, stream);
        break;
    case ALL_GATHER:
        result = ncclAllGather(rank->from, rank->to, count, ncclFloat, comm, stream);
        break;
    case REDUCE_SCATTER:
        result = ncclReduceScatter(rank->from, rank->to, count, ncclFloat, ncclSum, comm, stream);
        break;
    default:
        check(ncclGroupStart(), "ncclGroupStart");
        result = ncclSend(rank->from, count, ncclFloat, (int)((own + 1) % size), comm, stream);
        check(result != ncclSuccess, "ncclSend");
        result = ncclRecv(rank->to, count, ncclFloat, (int)((own + size - 1) % size), comm, stream);
        check(ncclGroupEnd(), "ncclGroupEnd");
    }
    check(result != ncclSuccess, names[operation]);
}

static void delay(struct rank *rank, cudaStream_t stream)
{
    for (unsigned i = below(&rank->own, 8); i; i--)
        check(cudaMemsetAsync(rank->work, 1, 1 + below(&rank->own, 1 << 20), stream), "cudaMemsetAsync");
    volatile unsigned sum = 0;
    for (unsigned i = below(&rank->own, 2) ? below(&rank->own, 100000) : 0; i; i--)
        sum = sum + i;
}

static void print_exchange(unsigned place, unsigned size, enum operation operation, size_t count)
{
    size_t bytes = count * sizeof(float);
    if (operation == ALL_GATHER || operation == REDUCE_SCATTER)
        bytes *= size;
    printf("%u %u %s %zu\n", place, size, names[operation], bytes);
}

static void step(struct rank *rank, unsigned long *plan)
{
    unsigned place = below(plan, 3), in_group = below(plan, 3) ? 1 : 2 + below(plan, 3);
    unsigned size = place == WORLD ? rank->size : (rank->size + 2 - place) / 2;
    unsigned own = place == WORLD ? rank->number : rank->half_rank;
    bool is_member = place == WORLD || place == rank->half + 1, tells = is_member && own == 0;
    cudaStream_t stream = rank->streams[below(&rank->own, STREAMS)];
    if (is_member)
        delay(rank, stream);
    if (is_member && in_group > 1)
        check(ncclGroupStart(), "ncclGroupStart");
    for (unsigned i = 0; i < in_group; i++) {
        /* Messages in a group of collectives would make one kernel of both: they go alone. */
        enum operation operation = below(plan, in_group > 1 ? SEND_RECV : OPERATIONS);
        size_t count = 1 + below(plan, FLOATS / RANKS_AT_MOST);
        unsigned root = below(plan, size);
        if (is_member)
            exchange(rank, rank->comms[place], own, size, operation, count, root, stream);
        if (tells)
            print_exchange(place, size, operation, count);
    }
    if (is_member && in_group > 1)
        check(ncclGroupEnd(), "ncclGroupEnd");
    if (is_member && below(&rank->own, 3) == 0)
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static void *run(void *argument)
{
    struct rank *rank = argument;
    unsigned long plan = seed;
    rank->own = seed * 31 + rank->number + 1;
    check(cudaSetDevice((int)rank->number), "cudaSetDevice");
    for (int i = 0; i < STREAMS; i++)
        check(cudaStreamCreateWithFlags(&rank->streams[i], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMalloc((void **)&rank->from, FLOATS * sizeof(float)) ||
              cudaMalloc((void **)&rank->to, FLOATS * sizeof(float)) || cudaMalloc((void **)&rank->work, 1 << 20),
          "cudaMalloc");
    check(ncclCommInitRank(&rank->comms[WORLD], (int)rank->size, world_id, (int)rank->number), "ncclCommInitRank");
    ncclComm_t half = NULL;
    // Within a group, whose end makes it.
    check(ncclGroupStart(), "ncclGroupStart");
    check(ncclCommSplit(rank->comms[WORLD], (int)rank->half, (int)rank->number, &half, NULL), "ncclCommSplit");
    check(ncclGroupEnd(), "ncclGroupEnd");
    rank->comms[rank->half + 1] = half;
    for (unsigned i = 0; i < step_count; i++)
        step(rank, &plan);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(ncclCommDestroy(half) || ncclCommDestroy(rank->comms[WORLD]), "ncclCommDestroy");
    return NULL;
}

int main(int argc, char **argv)
{
    static struct rank ranks[RANKS_AT_MOST];
    pthread_t threads[RANKS_AT_MOST];
    check(argc != 4, "the command line");
    seed = strtoul(argv[1], NULL, 10);
    unsigned long rank_count = strtoul(argv[2], NULL, 10);
    step_count = strtoul(argv[3], NULL, 10);
    check(rank_count < 4 || rank_count > RANKS_AT_MOST, "the number of ranks");
    check(ncclGetUniqueId(&world_id), "ncclGetUniqueId");
    for (unsigned i = 0; i < rank_count; i++) {
        unsigned size = (unsigned)rank_count;
        ranks[i] = (struct rank){.number = i, .size = size, .half = i % 2, .half_rank = i / 2};
        check(pthread_create(&threads[i], NULL, run, &ranks[i]), "pthread_create");
    }
    for (unsigned i = 0; i < rank_count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
