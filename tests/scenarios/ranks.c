#include "tests/scenarios/ranks.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MAX 16
#define BATCH_BYTES (16 * KIB)

/* What the ranks share, in threads and in processes. */
struct meeting {
    ncclUniqueId id;
    sem_t has_id;
    unsigned steps[RANKS_MAX];
};

struct job {
    struct scenario scenario; /* the rank's own copy */
    struct meeting *meeting;
    void (*body)(struct rank *);
    int number, count;
    size_t bytes;
};

void check_nccl(ncclResult_t result, const char *call, const char *file, int line)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, call, ncclGetErrorString(result));
    exit(1);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* The first rank makes the id; each that has it lets the next one take it. */
static ncclUniqueId meet(struct meeting *meeting, int number)
{
    if (number == 0)
        NCCL(ncclGetUniqueId(&meeting->id));
    else if (sem_wait(&meeting->has_id) != 0)
        fail("sem_wait");
    if (sem_post(&meeting->has_id) != 0)
        fail("sem_post");
    return meeting->id;
}

static void *run_rank(void *data)
{
    struct job *job = data;
    struct rank rank = {
        .scenario = &job->scenario, .number = job->number, .count = job->count, .faulty = job->scenario.faulty};
    CHECK(cudaSetDevice(rank.number));
    rank.trainer = trainer_create(BATCH_BYTES, true);
    CHECK(cudaStreamCreateWithFlags(&rank.communication, cudaStreamNonBlocking));
    for (int i = 0; i < BUCKETS_MAX; i++)
        CHECK(cudaEventCreateWithFlags(&rank.computed[i], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&rank.reduced, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&rank.buckets, job->bytes));
    rank.id = meet(job->meeting, rank.number);
    NCCL(ncclCommInitRank(&rank.comm, rank.count, rank.id, rank.number));
    job->body(&rank);
    CHECK(cudaDeviceSynchronize());
    NCCL(ncclCommDestroy(rank.comm));
    CHECK(cudaFree(rank.buckets));
    CHECK(cudaEventDestroy(rank.reduced));
    for (int i = 0; i < BUCKETS_MAX; i++)
        CHECK(cudaEventDestroy(rank.computed[i]));
    CHECK(cudaStreamDestroy(rank.communication));
    trainer_destroy(&rank.trainer);
    job->meeting->steps[rank.number] = job->scenario.steps;
    return NULL;
}

static void run_in_threads(struct job *jobs, int count)
{
    pthread_t threads[RANKS_MAX];
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, run_rank, &jobs[i]) != 0)
            fail("pthread_create");
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* The launcher itself never touches CUDA. */
static void run_in_processes(struct job *jobs, int count)
{
    char text[16];
    for (int i = 0; i < count; i++) {
        const pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child)
            continue;
        snprintf(text, sizeof(text), "%d", i);
        setenv("RANK", text, 1);
        setenv("LOCAL_RANK", text, 1);
        snprintf(text, sizeof(text), "%d", count);
        setenv("WORLD_SIZE", text, 1);
        run_rank(&jobs[i]);
        exit(0);
    }
    for (int i = 0; i < count; i++) {
        int status;
        if (wait(&status) < 0 || status != 0) {
            fprintf(stderr, "a rank failed\n");
            exit(1);
        }
    }
}

void run_ranks(struct scenario *scenario, enum rank_place place, int count, size_t bytes, void (*body)(struct rank *))
{
    const char *asked_count = getenv("SCENARIO_RANKS"), *asked_place = getenv("SCENARIO_PLACE");
    count = asked_count ? atoi(asked_count) : count;
    place = asked_place ? (strcmp(asked_place, "threads") == 0 ? RANKS_IN_THREADS : RANKS_IN_PROCESSES) : place;
    struct job jobs[RANKS_MAX];
    struct meeting *meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (meeting == MAP_FAILED || sem_init(&meeting->has_id, place == RANKS_IN_PROCESSES, 0) != 0)
        fail("shared memory");
    for (int i = 0; i < count; i++)
        jobs[i] = (struct job){*scenario, meeting, body, i, count, bytes};
    if (place == RANKS_IN_PROCESSES)
        run_in_processes(jobs, count);
    else
        run_in_threads(jobs, count);
    /* Each process has steps of its own; the threads of one process make its steps together. */
    for (int i = 0; i < (place == RANKS_IN_PROCESSES ? count : 1); i++)
        scenario->steps += meeting->steps[i];
    sem_destroy(&meeting->has_id);
    munmap(meeting, sizeof(*meeting));
}

void rank_step(struct rank *rank)
{
    rank->scenario->steps++;
    upload_batch(&rank->trainer);
}

size_t ring_bytes(const struct rank *rank, size_t bytes)
{
    const size_t count = (size_t)rank->count, floats = bytes / sizeof(float) * count / (2 * (count - 1));
    return (floats ? floats : 1) * sizeof(float);
}

void all_reduce(struct rank *rank, size_t bytes, cudaStream_t stream)
{
    NCCL(ncclAllReduce(rank->buckets, rank->buckets, ring_bytes(rank, bytes) / sizeof(float), ncclFloat, ncclSum,
                       rank->comm, stream));
}

void all_reduce_beside(struct rank *rank, unsigned bucket, size_t bytes)
{
    cudaEvent_t computed = rank->computed[bucket % BUCKETS_MAX];
    CHECK(cudaEventRecord(computed, rank->trainer.stream));
    CHECK(cudaStreamWaitEvent(rank->communication, computed, 0));
    all_reduce(rank, bytes, rank->communication);
}

void join_communication(struct rank *rank)
{
    CHECK(cudaEventRecord(rank->reduced, rank->communication));
    CHECK(cudaStreamWaitEvent(rank->trainer.stream, rank->reduced, 0));
}

void bucketed_step(struct rank *rank, uint64_t backward_ns, size_t bytes, size_t last_bytes)
{
    rank_step(rank);
    launch_many(KERNEL_FORWARD, rank->trainer.stream, 4, 300 * US);
    for (unsigned bucket = 0; bucket < 4; bucket++) {
        launch(KERNEL_BACKWARD, rank->trainer.stream, backward_ns);
        all_reduce_beside(rank, bucket, bucket < 3 ? bytes : last_bytes);
    }
    join_communication(rank);
    launch(KERNEL_OPTIMIZER, rank->trainer.stream, 200 * US);
}
