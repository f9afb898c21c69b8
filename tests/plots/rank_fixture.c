/* A run of several ranks, and one that allocates: what the plots of communication and memory show. */
#include "tests/plots/plot_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_fixture.h"

#define STEP_NS 4000000u
#define BUCKETS 4u
#define LATE_RANK 2u /* its computing takes longer */
#define LATE_NS 300000u

static struct gw_verdicts no_verdicts;

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void judge(struct plot_fixture *fixture)
{
    if (gw_budget_create(fixture->model, &fixture->budget) != 0)
        abort();
    fixture->source =
        (struct gw_plot_source){.model = fixture->model, .budget = fixture->budget, .verdicts = &no_verdicts};
}

/* Sizes from 64 KiB to 16 MiB, another for each bucket of a step. */
static uint64_t bucket_bytes(uint32_t step, uint32_t bucket)
{
    return 65536ull << ((step + 3 * bucket) % 9);
}

static uint64_t transfer_ns(uint64_t size_bytes, uint32_t ranks)
{
    double bus_bytes = gw_comm_bus_factor(GW_COMM_ALL_REDUCE, ranks) * (double)size_bytes;

    return PLOT_FIXTURE_LATENCY_NS + (uint64_t)(bus_bytes / PLOT_FIXTURE_BYTES_PER_NS);
}

/* When a rank comes to a bucket of a step, from the begin of the step. */
static uint64_t arrival_ns(uint32_t rank, uint32_t step, uint32_t bucket)
{
    uint64_t jitter_ns = (rank * 7919u + step * 104729u + bucket * 1299709u) % 40000u;

    return 400000u + bucket * 800000u + jitter_ns + (rank == LATE_RANK ? LATE_NS : 0u);
}

/* A rank computes, then communicates on a stream of its own while it computes the next part. */
static void run_step(struct gw_fixture *made, uint32_t rank, uint32_t ranks, uint32_t step, uint64_t begin_ns,
                     const uint32_t *streams)
{
    uint64_t busy_until_ns = begin_ns;

    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint64_t arrival = begin_ns + arrival_ns(rank, step, bucket), last_ns = 0;
        uint64_t enqueue_ns = begin_ns + bucket * 20000u + rank * 1000u;
        uint32_t call = gw_fixture_call(made, rank, "cudaLaunchKernel", enqueue_ns, enqueue_ns + 4000, 1);
        uint32_t op = gw_fixture_op(made, call, streams[0], GW_OP_KERNEL, busy_until_ns + 5000, arrival - 2000);
        gw_fixture_op_name(made, op, "_Z15backward_kernelPfPKf");
        busy_until_ns = arrival;
        for (uint32_t other = 0; other < ranks; other++) {
            uint64_t other_ns = begin_ns + arrival_ns(other, step, bucket);
            last_ns = other_ns > last_ns ? other_ns : last_ns;
        }
        call = gw_fixture_call(made, rank, "ncclAllReduce", enqueue_ns + 5000, enqueue_ns + 9000, 1);
        op = gw_fixture_op(made, call, streams[1], GW_OP_COMM, arrival,
                           last_ns + transfer_ns(bucket_bytes(step, bucket), ranks));
        gw_fixture_op_name(made, op, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    }
}

/* The operations of each rank's communication stream, in order, are its buckets step by step. */
static void add_collectives(struct gw_model *model, uint32_t ranks, uint32_t steps)
{
    uint32_t *next = must(calloc(ranks + 1, sizeof(*next)));

    model->communicators = must(calloc(ranks, sizeof(*model->communicators)));
    model->collectives = must(calloc((size_t)ranks * steps * BUCKETS, sizeof(*model->collectives)));
    for (uint32_t rank = 0; rank < ranks; rank++)
        model->communicators[model->communicators_count++] =
            (struct gw_communicator){.id = 1, .rank = rank, .size = ranks, .device = rank};
    for (uint32_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        uint32_t rank = model->streams[op->stream].device, at, step, bucket;
        uint64_t first_ns, last_ns = 0;
        if (op->kind != GW_OP_COMM)
            continue;
        at = next[rank]++;
        step = at / BUCKETS;
        bucket = at % BUCKETS;
        first_ns = arrival_ns(rank, step, bucket);
        for (uint32_t other = 0; other < ranks; other++)
            if (arrival_ns(other, step, bucket) > last_ns)
                last_ns = arrival_ns(other, step, bucket);
        model->collectives[model->collectives_count++] =
            (struct gw_collective){.size_bytes = bucket_bytes(step, bucket),
                                   .arrival_wait_ns = last_ns - first_ns,
                                   .transfer_ns = transfer_ns(bucket_bytes(step, bucket), ranks),
                                   .communicator = rank,
                                   .call = op->call,
                                   .op = i,
                                   .stream = op->stream,
                                   .sequence = at,
                                   .match = at,
                                   .matched = ranks,
                                   .kind = GW_COMM_ALL_REDUCE};
    }
    free(next);
}

void plot_fixture_ranks(struct plot_fixture *fixture, uint32_t ranks, uint32_t steps)
{
    struct gw_fixture *made = gw_fixture_create();
    uint32_t *streams = must(calloc(2 * (size_t)ranks, sizeof(*streams)));

    memset(fixture, 0, sizeof(*fixture));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t device = gw_fixture_device(made, rank);
        gw_fixture_thread(made, 200 + rank);
        streams[2 * rank] = gw_fixture_stream(made, device, 1, 0);
        streams[2 * rank + 1] = gw_fixture_stream(made, device, 2, 0);
    }
    for (uint32_t step = 0; step < steps; step++) {
        uint64_t begin_ns = 1000000u + (uint64_t)step * STEP_NS;
        for (uint32_t rank = 0; rank < ranks; rank++)
            run_step(made, rank, ranks, step, begin_ns, &streams[2 * rank]);
        gw_fixture_step(made, begin_ns, begin_ns + STEP_NS, step < 2);
    }
    fixture->model = gw_fixture_finish(made);
    add_collectives(fixture->model, ranks, steps);
    judge(fixture);
    free(streams);
}

/* A call that allocates or releases, and the driver's call within it, as the runtime makes them. */
static void memory_call(struct gw_fixture *made, const char *runtime, const char *driver, uint64_t begin_ns,
                        struct gw_memory memory)
{
    uint32_t call = gw_fixture_call(made, 0, runtime, begin_ns, begin_ns + 10000, 1);

    gw_fixture_memory_detail(made, call, memory);
    call = gw_fixture_call(made, 0, driver, begin_ns + 2000, begin_ns + 8000, 2);
    gw_fixture_memory_detail(made, call, memory);
}

void plot_fixture_memory(struct plot_fixture *fixture)
{
    const uint32_t release = GW_MEMORY_FREE;
    struct gw_fixture *made = gw_fixture_create();
    struct gw_memory weights = {.ptr = 0x1000, .size_bytes = 256ull << 20, .kind = GW_MEMORY_DEVICE};
    struct gw_memory staging = {.ptr = 0x2000, .size_bytes = 64ull << 20, .kind = GW_MEMORY_HOST};
    struct gw_memory unseen = {.ptr = 0x9000, .kind = GW_MEMORY_DEVICE | GW_MEMORY_FREE};

    memset(fixture, 0, sizeof(*fixture));
    gw_fixture_thread(made, 100);
    gw_fixture_device(made, 0);
    memory_call(made, "cudaMalloc", "cuMemAlloc_v2", 1000000, weights);
    memory_call(made, "cudaMallocHost", "cuMemHostAlloc", 1500000, staging);
    memory_call(made, "cudaFree", "cuMemFree_v2", 1700000, unseen);
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t begin_ns = 2000000 + i * 1000000ull;
        struct gw_memory activations = {.ptr = 0x3000, .size_bytes = 32ull << 20, .kind = GW_MEMORY_ASYNC};
        struct gw_memory workspace = {.ptr = 0x4000 + i, .size_bytes = (i % 5 + 1) << 20, .kind = GW_MEMORY_DEVICE};
        memory_call(made, "cudaMallocAsync", "cuMemAllocAsync", begin_ns, activations);
        memory_call(made, "cudaMalloc", "cuMemAlloc_v2", begin_ns + 200000, workspace);
        activations.kind += release;
        workspace.kind += release;
        memory_call(made, "cudaFreeAsync", "cuMemFreeAsync", begin_ns + 700000, activations);
        /* Memory of a pool and of cudaMalloc go back by the same call. */
        memory_call(made, "cudaFree", "cuMemFree_v2", begin_ns + 800000, workspace);
    }
    staging.kind += release;
    memory_call(made, "cudaFreeHost", "cuMemFreeHost", 43000000, staging);
    fixture->model = gw_fixture_finish(made);
    judge(fixture);
}
