/*
 * A small data-parallel training loop: each rank computes some micro-steps, the gradients are all-reduced, and every
 * rank updates its weights. Buckets of gradients are reduced on a stream of their own while the backward pass goes on.
 *
 *   ddp_loop [--ranks N] [--processes] [--steps N] [--micro-steps N] [--straggler RANK] [--per-micro-step]
 * [--same-stream] [--id-file FILE] [--dies RANK]
 *
 * Ranks are threads of one process, or processes with --processes; each has the device of its number. With --id-file
 * the process is one rank of those that torchrun, mpirun or srun started, and the ranks meet through that file, which
 * must not exist before. Faults to plant:
 *   --straggler RANK   that rank's kernels take half as long again: the others wait for it in every collective
 *   --per-micro-step   gradients are reduced after each micro-step, not once a step: redundant communication
 *   --same-stream      gradients are reduced on the compute stream: communication overlaps nothing
 *   --dies RANK        that rank is killed in the middle of the run, as when memory runs out
 */
#include "example.h"

#include <getopt.h>
#include <nccl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define NCCL(call) check_nccl((call), #call, __LINE__)

enum { LAYERS = 4, BLOCKS = 64, THREADS = 128, BUCKET_FLOATS = 1 << 16, MOST_RANKS = 16, BATCH_BYTES = 1 << 18 };

static const unsigned long long forward_ns = 60000, backward_ns = 120000, optimizer_ns = 80000;

struct options {
    int ranks, steps, micro_steps, straggler, dies;
    bool processes, per_micro_step, same_stream;
    const char *id_file;
};

struct trainer {
    int rank;
    unsigned long long percent; /* of the kernels' usual time */
    ncclComm_t comm;
    cudaStream_t compute, communication;
    cudaEvent_t layer_done[LAYERS], reduced;
    float *host_batch, *batch, *activations, *gradients[LAYERS];
};

static void check_nccl(ncclResult_t result, const char *call, int line)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, ncclGetErrorString(result));
    exit(1);
}

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

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--ranks N] [--processes] [--steps N] [--micro-steps N] [--straggler RANK] [--per-micro-step] "
            "[--same-stream] [--id-file FILE] [--dies RANK]\n",
            program);
    exit(2);
}

static int number(const char *text, int least, int most, const char *program)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most)
        usage(program);
    return (int)value;
}

static struct options parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"ranks", required_argument, NULL, 'r'},     {"processes", no_argument, NULL, 'p'},
        {"steps", required_argument, NULL, 's'},     {"micro-steps", required_argument, NULL, 'm'},
        {"straggler", required_argument, NULL, 'l'}, {"per-micro-step", no_argument, NULL, 'e'},
        {"same-stream", no_argument, NULL, 'c'},     {"id-file", required_argument, NULL, 'i'},
        {"dies", required_argument, NULL, 'd'},      {NULL, 0, NULL, 0}};
    struct options options = {2, 30, 2, -1, -1, false, false, false, NULL};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'r':
            options.ranks = number(optarg, 1, MOST_RANKS, argv[0]);
            break;
        case 'p':
            options.processes = true;
            break;
        case 's':
            options.steps = number(optarg, 1, 1000000, argv[0]);
            break;
        case 'm':
            options.micro_steps = number(optarg, 1, 1000, argv[0]);
            break;
        case 'l':
            options.straggler = number(optarg, 0, MOST_RANKS - 1, argv[0]);
            break;
        case 'e':
            options.per_micro_step = true;
            break;
        case 'c':
            options.same_stream = true;
            break;
        case 'i':
            options.id_file = optarg;
            break;
        case 'd':
            options.dies = number(optarg, 0, MOST_RANKS - 1, argv[0]);
            break;
        default:
            usage(argv[0]);
        }
    }
    if (optind != argc)
        usage(argv[0]);
    return options;
}

static void trainer_create(struct trainer *trainer, const struct options *options, ncclUniqueId id)
{
    trainer->percent = trainer->rank == options->straggler ? 150 : 100;
    CHECK(cudaSetDevice(trainer->rank));
    CHECK(cudaStreamCreateWithFlags(&trainer->compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&trainer->communication, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&trainer->reduced, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&trainer->host_batch, BATCH_BYTES));
    CHECK(cudaMalloc((void **)&trainer->batch, BATCH_BYTES));
    CHECK(cudaMalloc((void **)&trainer->activations, BLOCKS * THREADS * sizeof(float)));
    for (int layer = 0; layer < LAYERS; layer++) {
        CHECK(cudaEventCreateWithFlags(&trainer->layer_done[layer], cudaEventDisableTiming));
        CHECK(cudaMalloc((void **)&trainer->gradients[layer], BUCKET_FLOATS * sizeof(float)));
        CHECK(cudaMemset(trainer->gradients[layer], 0, BUCKET_FLOATS * sizeof(float)));
    }
    NCCL(ncclCommInitRank(&trainer->comm, options->ranks, id, trainer->rank));
}

static void trainer_destroy(struct trainer *trainer)
{
    NCCL(ncclCommDestroy(trainer->comm));
    for (int layer = 0; layer < LAYERS; layer++) {
        CHECK(cudaEventDestroy(trainer->layer_done[layer]));
        CHECK(cudaFree(trainer->gradients[layer]));
    }
    CHECK(cudaFree(trainer->activations));
    CHECK(cudaFree(trainer->batch));
    CHECK(cudaFreeHost(trainer->host_batch));
    CHECK(cudaEventDestroy(trainer->reduced));
    CHECK(cudaStreamDestroy(trainer->communication));
    CHECK(cudaStreamDestroy(trainer->compute));
}

static void micro_step(struct trainer *trainer, const struct options *options, bool reduces)
{
    cudaStream_t stream = options->same_stream ? trainer->compute : trainer->communication;

    CHECK(cudaMemcpyAsync(trainer->batch, trainer->host_batch, BATCH_BYTES, cudaMemcpyHostToDevice, trainer->compute));
    for (int layer = 0; layer < LAYERS; layer++) {
        forward_spin_ns<<<BLOCKS, THREADS, 0, trainer->compute>>>(forward_ns * trainer->percent / 100,
                                                                  trainer->activations);
        CHECK(cudaGetLastError());
    }
    for (int layer = LAYERS - 1; layer >= 0; layer--) {
        backward_spin_ns<<<BLOCKS, THREADS, 0, trainer->compute>>>(backward_ns * trainer->percent / 100,
                                                                   trainer->activations);
        CHECK(cudaGetLastError());
        if (!reduces)
            continue;
        if (stream != trainer->compute) {
            CHECK(cudaEventRecord(trainer->layer_done[layer], trainer->compute));
            CHECK(cudaStreamWaitEvent(stream, trainer->layer_done[layer], 0));
        }
        NCCL(ncclAllReduce(trainer->gradients[layer], trainer->gradients[layer], BUCKET_FLOATS, ncclFloat, ncclAvg,
                           trainer->comm, stream));
    }
}

static void train_step(struct trainer *trainer, const struct options *options)
{
    for (int i = 0; i < options->micro_steps; i++)
        micro_step(trainer, options, options->per_micro_step || i == options->micro_steps - 1);
    if (!options->same_stream) {
        CHECK(cudaEventRecord(trainer->reduced, trainer->communication));
        CHECK(cudaStreamWaitEvent(trainer->compute, trainer->reduced, 0));
    }
    optimizer_spin_ns<<<BLOCKS, THREADS, 0, trainer->compute>>>(optimizer_ns * trainer->percent / 100,
                                                                trainer->activations);
    CHECK(cudaGetLastError());
}

static void train(int rank, const struct options *options, ncclUniqueId id)
{
    struct trainer trainer;
    memset(&trainer, 0, sizeof(trainer));
    trainer.rank = rank;
    trainer_create(&trainer, options, id);
    const unsigned long long begin_ns = now_ns();
    for (int step = 0; step < options->steps; step++) {
        if (rank == options->dies && step == options->steps / 2)
            kill(getpid(), SIGKILL);
        train_step(&trainer, options);
        /* As a loop that logs its loss: the host runs one step ahead at most. */
        CHECK(cudaStreamSynchronize(trainer.compute));
    }
    if (rank == 0)
        printf("ddp_loop: %d ranks, %d steps, %.2f ms a step\n", options->ranks, options->steps,
               (double)(now_ns() - begin_ns) / 1e6 / options->steps);
    trainer_destroy(&trainer);
}

static int train_in_threads(const struct options *options)
{
    std::vector<std::thread> threads;
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    for (int rank = 0; rank < options->ranks; rank++)
        threads.emplace_back(train, rank, options, id);
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}

/* Rank 0 makes the id and sends it to the others; the launcher itself never touches CUDA. */
static int train_in_processes(const struct options *options)
{
    int pipes[MOST_RANKS][2], status, failures = 0;
    for (int rank = 0; rank < options->ranks; rank++) {
        if (pipe(pipes[rank]) != 0) {
            perror("ddp_loop: pipe");
            return 1;
        }
    }
    for (int rank = 0; rank < options->ranks; rank++) {
        const pid_t child = fork();
        if (child < 0) {
            perror("ddp_loop: fork");
            return 1;
        }
        if (child)
            continue;
        ncclUniqueId id;
        char text[16];
        snprintf(text, sizeof(text), "%d", rank);
        setenv("RANK", text, 1);
        setenv("LOCAL_RANK", text, 1);
        if (rank == 0)
            NCCL(ncclGetUniqueId(&id));
        for (int other = 1; rank == 0 && other < options->ranks; other++) {
            if (write(pipes[other][1], &id, sizeof(id)) != (ssize_t)sizeof(id))
                exit(1);
        }
        if (rank && read(pipes[rank][0], &id, sizeof(id)) != (ssize_t)sizeof(id))
            exit(1);
        train(rank, options, id);
        exit(0);
    }
    for (int rank = 0; rank < options->ranks; rank++) {
        if (wait(&status) < 0 || status != 0)
            failures++;
    }
    return failures != 0;
}

/* The first of these variables that is set; -1 when none is. */
static int launched(const char *const *variables)
{
    for (; *variables; variables++) {
        if (getenv(*variables))
            return atoi(getenv(*variables));
    }
    return -1;
}

static int train_as_launched(struct options *options)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    const int rank = launched(ranks);
    options->ranks = launched(sizes);
    if (rank < 0 || options->ranks < 1) {
        fprintf(stderr, "ddp_loop: --id-file is for programs that torchrun, mpirun or srun starts\n");
        return 2;
    }
    ncclUniqueId id;
    if (rank == 0) {
        char draft[4096];
        snprintf(draft, sizeof(draft), "%s.new", options->id_file);
        NCCL(ncclGetUniqueId(&id));
        FILE *file = fopen(draft, "w");
        if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) != 0 ||
            rename(draft, options->id_file) != 0) {
            perror(options->id_file);
            return 1;
        }
    } else {
        FILE *file;
        while (!(file = fopen(options->id_file, "r")))
            usleep(1000);
        if (fread(&id, sizeof(id), 1, file) != 1) {
            perror(options->id_file);
            return 1;
        }
        fclose(file);
    }
    train(rank, options, id);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    if (options.id_file)
        return train_as_launched(&options);
    return options.processes ? train_in_processes(&options) : train_in_threads(&options);
}
