/*
 * gw-bench-training: a training loop of some 170 CUDA calls a step, for recordings whose reading is measured. Kernels
 * on two streams that wait for each other, copies of all kinds, a scalar read in every other step. GW_BENCH_STEPS in
 * the environment says how many steps.
 */
#include <stdlib.h>

#include "tests/scenarios/scenario.h"

#define LAYERS 25
#define KERNEL_NS (3 * US)

struct side {
    cudaStream_t stream;
    cudaEvent_t fork, join;
    unsigned char *device;
};

static struct side create_side(void)
{
    struct side side;
    CHECK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&side.fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&side.join, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&side.device, MIB));
    return side;
}

static void destroy_side(struct side *side)
{
    CHECK(cudaFree(side->device));
    CHECK(cudaEventDestroy(side->join));
    CHECK(cudaEventDestroy(side->fork));
    CHECK(cudaStreamDestroy(side->stream));
}

static void run_beside(const struct side *side, cudaStream_t stream)
{
    CHECK(cudaEventRecord(side->fork, stream));
    CHECK(cudaStreamWaitEvent(side->stream, side->fork, 0));
    launch(KERNEL_GATE, side->stream, KERNEL_NS);
    launch(KERNEL_REDUCE, side->stream, KERNEL_NS);
    CHECK(cudaEventRecord(side->join, side->stream));
    CHECK(cudaStreamWaitEvent(stream, side->join, 0));
}

static void run_layer(int layer, const struct side *side, cudaStream_t stream)
{
    int device;
    launch(KERNEL_FORWARD, stream, KERNEL_NS);
    launch(KERNEL_NORM, stream, KERNEL_NS);
    launch(KERNEL_ELEMENTWISE, stream, KERNEL_NS);
    if (layer % 8 == 0)
        run_beside(side, stream);
    if (layer % 16 == 0)
        CHECK(cudaMemsetAsync(side->device, 0, 4 * KIB, stream));
    if (layer % 16 == 5)
        CHECK(cudaMemcpyAsync(side->device, side->device + 64 * KIB, 8 * KIB, cudaMemcpyDeviceToDevice, stream));
    if (layer % 4 == 0)
        CHECK(cudaGetDevice(&device));
    launch(KERNEL_BACKWARD, stream, KERNEL_NS);
}

void run_scenario(struct scenario *scenario)
{
    const char *steps = getenv("GW_BENCH_STEPS");
    const unsigned count = steps ? (unsigned)strtoul(steps, NULL, 10) : 100;
    static unsigned char pageable[4 * KIB];
    struct trainer trainer = trainer_create(64 * KIB, true);
    struct side side = create_side();
    while (scenario->steps < count) {
        scenario->steps++;
        upload_batch(&trainer);
        CHECK(cudaMemcpyAsync(side.device, pageable, sizeof(pageable), cudaMemcpyHostToDevice, trainer.stream));
        for (int layer = 0; layer < LAYERS; layer++)
            run_layer(layer, &side, trainer.stream);
        launch_many(KERNEL_OPTIMIZER, trainer.stream, 4, KERNEL_NS);
        if (scenario->steps % 2 == 0)
            read_scalar(&trainer);
    }
    destroy_side(&side);
    trainer_destroy(&trainer);
}
