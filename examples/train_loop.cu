/*
 * A small training loop with two planted faults: the batch is uploaded from pageable memory, and the loss is read back
 * in every step. gpuwitness must find 55 steps (5 of warm-up) and confirm pageable-copy and host-sync.
 *
 *   train_loop [--steps N] [--warmup N] [--think US] [--pinned] [--no-sync]
 *
 * --pinned uploads from page-locked memory, --no-sync copies the loss back in every 25th step without waiting for it:
 * with both, neither is confirmed. TRAIN_LOOP_STEPS=FILE writes "step begin_ns end_ns warmup" lines, on
 * CLOCK_MONOTONIC.
 */
#include "example.h"

#include <getopt.h>
#include <string.h>

enum {
    LAYERS = 6,
    BLOCKS = 64,
    THREADS = 128,
    BATCH_FLOATS = 512 * 1024,
    SCRATCH_BYTES = 8 << 20,
    READ_EVERY = 25 /* steps between two reads of the loss with --no-sync */
};

static const unsigned long long forward_ns[LAYERS] = {45000, 90000, 60000, 60000, 75000, 30000};
static const unsigned long long backward_ns[LAYERS] = {80000, 165000, 110000, 115000, 140000, 55000};
static const unsigned long long gradient_ns[LAYERS] = {50000, 100000, 70000, 70000, 90000, 35000};
static const unsigned long long optimizer_ns = 120000;

__global__ void forward_spin_ns(unsigned long long duration_ns, float *data, const float *batch)
{
    spin(duration_ns, data);
    data[0] += 1e-9f * batch[0];
}

__global__ void backward_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void weight_gradient_spin_ns(unsigned long long duration_ns, float *data)
{
    spin(duration_ns, data);
}

__global__ void optimizer_spin_ns(unsigned long long duration_ns, float *data, float *loss)
{
    spin(duration_ns, data);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *loss *= 0.99f;
}

struct options {
    int steps, warmup;
    unsigned long long think_ns;
    bool pinned, no_sync;
};

struct trainer {
    cudaStream_t stream, side_stream;
    cudaEvent_t layer_done[LAYERS], gradients_done;
    cudaEvent_t uploaded[2]; /* the batch buffer may be filled again after it */
    float *host_batch[2], *batch, *activations, *gradients, *loss;
    float *host_loss; /* page-locked: a copy into it need not be waited for */
};

static void usage(const char *program)
{
    fprintf(stderr, "usage: %s [--steps N] [--warmup N] [--think US] [--pinned] [--no-sync]\n", program);
    exit(2);
}

static unsigned long long number(const char *text, const char *program)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || value > 1000000)
        usage(program);
    return value;
}

static struct options parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"steps", required_argument, NULL, 's'}, {"warmup", required_argument, NULL, 'w'},
        {"think", required_argument, NULL, 't'}, {"pinned", no_argument, NULL, 'p'},
        {"no-sync", no_argument, NULL, 'n'},     {NULL, 0, NULL, 0}};
    struct options options = {50, 5, 150000, false, false};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 's':
            options.steps = (int)number(optarg, argv[0]);
            break;
        case 'w':
            options.warmup = (int)number(optarg, argv[0]);
            break;
        case 't':
            options.think_ns = number(optarg, argv[0]) * 1000;
            break;
        case 'p':
            options.pinned = true;
            break;
        case 'n':
            options.no_sync = true;
            break;
        default:
            usage(argv[0]);
        }
    }
    if (optind != argc)
        usage(argv[0]);
    return options;
}

static void trainer_create(struct trainer *trainer, bool pinned)
{
    const size_t layer_bytes = BLOCKS * THREADS * sizeof(float);
    const float first_loss = 2.3026f;

    CHECK(cudaStreamCreate(&trainer->stream));
    CHECK(cudaStreamCreate(&trainer->side_stream));
    for (int layer = 0; layer < LAYERS; layer++)
        CHECK(cudaEventCreateWithFlags(&trainer->layer_done[layer], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&trainer->gradients_done, cudaEventDisableTiming));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&trainer->uploaded[i], cudaEventDisableTiming));
        if (pinned)
            CHECK(cudaMallocHost((void **)&trainer->host_batch[i], BATCH_FLOATS * sizeof(float)));
        else
            trainer->host_batch[i] = (float *)calloc(BATCH_FLOATS, sizeof(float));
        if (!trainer->host_batch[i]) {
            fprintf(stderr, "train_loop: out of memory\n");
            exit(1);
        }
    }
    CHECK(cudaMallocHost((void **)&trainer->host_loss, sizeof(float)));
    *trainer->host_loss = first_loss;
    CHECK(cudaMalloc((void **)&trainer->batch, BATCH_FLOATS * sizeof(float)));
    CHECK(cudaMalloc((void **)&trainer->activations, layer_bytes));
    CHECK(cudaMalloc((void **)&trainer->gradients, layer_bytes));
    CHECK(cudaMalloc((void **)&trainer->loss, sizeof(float)));
    CHECK(cudaMemset(trainer->activations, 0, layer_bytes));
    CHECK(cudaMemset(trainer->gradients, 0, layer_bytes));
    CHECK(cudaMemcpy(trainer->loss, &first_loss, sizeof(first_loss), cudaMemcpyHostToDevice));
}

static void trainer_destroy(struct trainer *trainer, bool pinned)
{
    CHECK(cudaFree(trainer->loss));
    CHECK(cudaFreeHost(trainer->host_loss));
    CHECK(cudaFree(trainer->gradients));
    CHECK(cudaFree(trainer->activations));
    CHECK(cudaFree(trainer->batch));
    for (int i = 0; i < 2; i++) {
        if (pinned)
            CHECK(cudaFreeHost(trainer->host_batch[i]));
        else
            free(trainer->host_batch[i]);
        CHECK(cudaEventDestroy(trainer->uploaded[i]));
    }
    CHECK(cudaEventDestroy(trainer->gradients_done));
    for (int layer = 0; layer < LAYERS; layer++)
        CHECK(cudaEventDestroy(trainer->layer_done[layer]));
    CHECK(cudaStreamDestroy(trainer->side_stream));
    CHECK(cudaStreamDestroy(trainer->stream));
}

/* Enqueues one step. Weight gradients run on a stream of their own while the backward pass goes on. */
static void train_step(struct trainer *trainer, int step, unsigned long long factor)
{
    float *host_batch = trainer->host_batch[step % 2];

    CHECK(cudaEventSynchronize(trainer->uploaded[step % 2]));
    host_batch[0] = (float)step;
    CHECK(cudaMemcpyAsync(trainer->batch, host_batch, BATCH_FLOATS * sizeof(float), cudaMemcpyHostToDevice,
                          trainer->stream));
    CHECK(cudaEventRecord(trainer->uploaded[step % 2], trainer->stream));
    for (int layer = 0; layer < LAYERS; layer++) {
        forward_spin_ns<<<BLOCKS, THREADS, 0, trainer->stream>>>(factor * forward_ns[layer], trainer->activations,
                                                                 trainer->batch);
        CHECK(cudaGetLastError());
    }
    for (int layer = LAYERS - 1; layer >= 0; layer--) {
        backward_spin_ns<<<BLOCKS, THREADS, 0, trainer->stream>>>(factor * backward_ns[layer], trainer->activations);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(trainer->layer_done[layer], trainer->stream));
        CHECK(cudaStreamWaitEvent(trainer->side_stream, trainer->layer_done[layer], 0));
        weight_gradient_spin_ns<<<BLOCKS, THREADS, 0, trainer->side_stream>>>(factor * gradient_ns[layer],
                                                                              trainer->gradients);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(trainer->gradients_done, trainer->side_stream));
    CHECK(cudaStreamWaitEvent(trainer->stream, trainer->gradients_done, 0));
    optimizer_spin_ns<<<BLOCKS, THREADS, 0, trainer->stream>>>(optimizer_ns, trainer->gradients, trainer->loss);
    CHECK(cudaGetLastError());
}

/* What `loss.item()` does. */
static void read_loss(struct trainer *trainer)
{
    float loss;
    CHECK(cudaMemcpy(&loss, trainer->loss, sizeof(loss), cudaMemcpyDeviceToHost));
    *trainer->host_loss = loss;
}

/* Frameworks try out kernels and grow their pools in the first steps. */
static void warm_up(struct trainer *trainer)
{
    float *scratch;
    CHECK(cudaMalloc((void **)&scratch, SCRATCH_BYTES));
    CHECK(cudaMemsetAsync(scratch, 0, SCRATCH_BYTES, trainer->stream));
    CHECK(cudaFree(scratch));
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    const char *steps_path = getenv("TRAIN_LOOP_STEPS");
    FILE *steps_file = NULL;
    struct trainer trainer;
    cudaDeviceProp properties;

    if (steps_path && !(steps_file = fopen(steps_path, "w"))) {
        fprintf(stderr, "train_loop: cannot write %s\n", steps_path);
        return 1;
    }
    CHECK(cudaGetDeviceProperties(&properties, 0));
    trainer_create(&trainer, options.pinned);
    printf("train_loop on %s: %d steps after %d of warm-up\n", properties.name, options.steps, options.warmup);

    unsigned long long begin_ns = now_ns(), shown_ns = begin_ns;
    int shown_step = 0, total = options.warmup + options.steps;
    for (int step = 0; step < total; step++) {
        bool warmup = step < options.warmup;
        if (warmup)
            warm_up(&trainer);
        think_ns(options.think_ns);
        train_step(&trainer, step, warmup ? 2 : 1);
        if (!options.no_sync)
            read_loss(&trainer);
        else if ((step + 1) % READ_EVERY == 0)
            CHECK(cudaMemcpyAsync(trainer.host_loss, trainer.loss, sizeof(float), cudaMemcpyDeviceToHost,
                                  trainer.stream));
        unsigned long long end_ns = now_ns();
        if (steps_file)
            fprintf(steps_file, "%d %llu %llu %d\n", step, begin_ns, end_ns, warmup);
        if ((step + 1) % 10 == 0 || step + 1 == total) {
            printf("step %3d  loss %.4f  %.2f ms a step\n", step + 1, *trainer.host_loss,
                   (double)(end_ns - shown_ns) / 1e6 / (step + 1 - shown_step));
            shown_ns = end_ns;
            shown_step = step + 1;
        }
        begin_ns = end_ns;
    }
    CHECK(cudaDeviceSynchronize());
    trainer_destroy(&trainer, options.pinned);
    if (steps_file && fclose(steps_file) != 0) {
        fprintf(stderr, "train_loop: cannot write %s\n", steps_path);
        return 1;
    }
    return 0;
}
