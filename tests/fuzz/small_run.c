#include "tests/fuzz/small_run.h"

#include <stdlib.h>
#include <string.h>

#include "shim/api/codes.h"
#include "shim/api/functions.h"

#define STEPS 12u
#define STREAM_HANDLE 0x5000u
#define KERNEL_HANDLE 0x6000u
#define COMM_HANDLE 0x7000u

uint64_t gw_fuzz_take(struct gw_fuzz_input *input, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes && input->size; i++) {
        number |= (uint64_t)*input->data++ << 8 * i;
        input->size--;
    }
    return number;
}

uint64_t gw_fuzz_take_number(struct gw_fuzz_input *input, uint64_t near)
{
    const unsigned how = (unsigned)gw_fuzz_take(input, 1);
    switch (how % 4) {
    case 0:
        return how >> 2;
    case 1:
        return near + (uint64_t)(int16_t)gw_fuzz_take(input, 2) * (how & 64 ? 1000 : 1);
    case 2:
        return near ^ 1ull << (how >> 2 & 63);
    default:
        return gw_fuzz_take(input, 1 + (how >> 2 & 7));
    }
}

const char *gw_small_run_json(unsigned kind)
{
#define BEGINNING                                                                                                      \
    "{\"schema\":\"gpuwitness.run/1\",\"complete\":true,\"command\":[\"train\"],\"cwd\":\"/\",\"recorder_pid\":5,"     \
    "\"boot_id\":\"b\",\"start\":{\"monotonic_ns\":900000,\"realtime_ns\":1700000000000900000},"                       \
    "\"end\":{\"monotonic_ns\":90000000,\"realtime_ns\":1700000000090000000},\"environment\":{},\"versions\":{},"      \
    "\"gpu_timing\":\"cupti\",\"device\":\"simulated\",\"trace\":\"trace\",\"events_discarded\":0,"                    \
    "\"exit\":{\"how\":\"exited\",\"status\":0},"
    static const char *const texts[GW_SMALL_RUNS] = {
        BEGINNING
        "\"host\":\"a\",\"compilers\":{\"left_out\":1,\"list\":["
        "{\"pid\":9,\"name\":\"ptxas\",\"begin_ns\":1100000,\"end_ns\":1300000,\"ancestors\":[[100,100],[101,101]],"
        "\"input\":{\"bytes\":70,\"hash\":\"0123456789abcdef\"}},"
        "{\"pid\":9,\"name\":\"a|b\",\"begin_ns\":1200000,\"end_ns\":null,\"ancestors\":[]}]}}",
        BEGINNING "\"host\":\"b\",\"job\":{\"id\":\"j\",\"rank\":1,\"size\":2}}",
        BEGINNING "\"host\":\"a\",\"windows\":[[1000000,1400000],[1600000,null]]}",
        BEGINNING "\"host\":\"a\",\"flight_recorder\":{\"asked_ns\":500000,\"slow_factor\":2.0}}",
    };
#undef BEGINNING
    return texts[kind % GW_SMALL_RUNS];
}

/* ---- records ---- */

struct writing {
    struct gw_record_stream *stream;
    uint32_t pid, tid;
    uint64_t now_ns, sequence, device_ns;
};

static void add(struct writing *self, struct gw_record record, const uint64_t *words, uint32_t count)
{
    if (gw_record_stream_append(self->stream, &record, words, count)) {
        abort();
    }
}

static uint64_t add_text(struct writing *self, const char *text)
{
    uint64_t offset = 0;
    if (gw_record_stream_add_text(self->stream, text, strlen(text), &offset)) {
        abort();
    }
    return offset;
}

/* A call that lasts length_ns and begins after pause_ns. */
static struct gw_record next_call(struct writing *self, enum gw_record_type type, const char *function, unsigned depth,
                                  unsigned flags, uint64_t pause_ns, uint64_t length_ns)
{
    self->now_ns += pause_ns;
    struct gw_record record = {.type = type,
                               .begin_ns = self->now_ns,
                               .time_ns = self->now_ns + length_ns,
                               .call = GW_CALL_ID(self->tid, self->sequence),
                               .site = GW_SITE(self->pid, gw_function_find(function), depth, flags)};
    self->now_ns = record.time_ns;
    return record;
}

static void add_gpu_op(struct writing *self, unsigned kind, uint64_t length_ns)
{
    const uint64_t start_ns = self->device_ns > self->now_ns ? self->device_ns : self->now_ns + 3000;
    const uint64_t words[GW_ARGS_gpu_op] = {STREAM_HANDLE, start_ns + length_ns, 30};
    self->device_ns = start_ns + length_ns;
    add(self,
        (struct gw_record){.type = GW_RECORD_gpu_op,
                           .time_ns = self->now_ns + 10,
                           .begin_ns = start_ns,
                           .call = GW_CALL_ID(self->tid, self->sequence),
                           .site = GW_WHERE(self->pid, 0, kind, 1, 0)},
        words, GW_ARGS_gpu_op);
}

static void add_launch(struct writing *self, uint64_t kernel, uint64_t length_ns)
{
    const uint64_t words[GW_ARGS_launch] = {KERNEL_HANDLE + kernel, STREAM_HANDLE, 8ull | 1ull << 32 | 1ull << 48,
                                            128ull | 1ull << 12 | 1ull << 24};
    self->sequence++;
    struct gw_record outer = next_call(self, GW_RECORD_call, "cudaLaunchKernel", 1, 0, 2000, 900);
    struct gw_record inner = outer;
    inner.type = GW_RECORD_launch;
    inner.begin_ns += 100;
    inner.time_ns -= 100;
    inner.site = GW_SITE(self->pid, gw_function_find("cuLaunchKernel"), 2, 1);
    add(self, inner, words, GW_ARGS_launch);
    add(self, outer, NULL, 0);
    add_gpu_op(self, GW_GPU_OP_KERNEL, length_ns);
}

static void add_copy(struct writing *self, enum gw_copy_direction direction, uint64_t bytes)
{
    const bool up = direction == GW_COPY_H2D;
    const uint64_t words[GW_ARGS_copy] = {
        0x1000,
        0x2000,
        bytes,
        STREAM_HANDLE,
        GW_COPY_HOW(direction, up ? GW_HOST_PAGEABLE : GW_HOST_NOT, up ? GW_HOST_NOT : GW_HOST_PINNED, 0),
        99};
    self->sequence++;
    add(self, next_call(self, GW_RECORD_copy, "cudaMemcpyAsync", 1, 1, 3000, 1500), words, GW_ARGS_copy);
    add_gpu_op(self, GW_GPU_OP_COPY, 1000 + bytes / 10);
}

static void add_collective(struct writing *self)
{
    const uint64_t words[GW_ARGS_comm] = {[GW_ARG_comm_comm] = COMM_HANDLE,
                                          [GW_ARG_comm_count] = 1000,
                                          [GW_ARG_comm_what] = GW_COMM_ALL_REDUCE | 7u << 8,
                                          [GW_ARG_comm_stream] = STREAM_HANDLE};
    self->sequence++;
    add(self, next_call(self, GW_RECORD_comm, "ncclAllReduce", 1, 0, 1000, 700), words, GW_ARGS_comm);
    add_launch(self, 2, 9000);
}

static void add_wait(struct writing *self)
{
    const uint64_t words[GW_ARGS_order] = {STREAM_HANDLE, 0, GW_ORDER_STREAM_SYNC, 0};
    self->sequence++;
    const uint64_t until_ns = self->device_ns > self->now_ns ? self->device_ns : self->now_ns;
    struct gw_record call = next_call(self, GW_RECORD_order, "cudaStreamSynchronize", 1, GW_SITE_HAS_BEGIN, 500,
                                      until_ns - self->now_ns + 800);
    add(self,
        (struct gw_record){.type = GW_RECORD_call_begin,
                           .time_ns = call.begin_ns,
                           .call = call.call,
                           .site = GW_SITE(self->pid, gw_function_find("cudaStreamSynchronize"), 1, 0)},
        NULL, 0);
    add(self, call, words, GW_ARGS_order);
    const uint64_t gap[GW_ARGS_thread_gap] = {self->now_ns + 25000, 20000, 1, 0};
    add(self,
        (struct gw_record){
            .type = GW_RECORD_thread_gap, .time_ns = self->now_ns + 25000, .begin_ns = self->now_ns, .call = call.call},
        gap, GW_ARGS_thread_gap);
    self->now_ns += 25000;
}

static void add_range(struct writing *self, uint64_t what)
{
    const uint64_t words[GW_ARGS_nvtx] = {
        (uint64_t)self->pid << 32 | self->tid, what, 0, 0, 0, add_text(self, what == GW_NVTX_PUSH ? "step" : "")};
    add(self, (struct gw_record){.type = GW_RECORD_nvtx, .time_ns = self->now_ns}, words, GW_ARGS_nvtx);
}

static void introduce(struct writing *self)
{
    static const char *const kernels[] = {"forward", "backward", "ncclDevKernel_AllReduce"};
    const uint64_t process[GW_ARGS_process] = {self->pid,
                                               1,
                                               add_text(self, "/bin/train"),
                                               add_text(self, "train"),
                                               add_text(self, "a"),
                                               add_text(self, "RANK=0\nWORLD_SIZE=2\n")};
    const uint64_t thread[GW_ARGS_thread] = {self->pid, self->tid, add_text(self, "main")};
    const uint64_t device[GW_ARGS_device] = {
        self->pid,           0, add_text(self, "GPU"), add_text(self, "uuid"), add_text(self, "0:1"), 1u << 30,
        132ull | 90ull << 32};
    const uint64_t stream[GW_ARGS_stream] = {self->pid, 0, STREAM_HANDLE, 7, 0};
    const uint64_t clock[GW_ARGS_gpu_clock] = {self->pid, 0, GW_TIMING_CUPTI, self->now_ns, 20, 30};
    const uint64_t communicator[GW_ARGS_communicator] = {self->pid, COMM_HANDLE, 77, 0, (self->pid & 1) | 2ull << 32,
                                                         0};
    const uint64_t own[GW_ARGS_own_time] = {self->pid, 64, 64 * 90};
    const uint64_t coverage[GW_ARGS_coverage] = {self->pid, 1, add_text(self, "libcudart.so"), add_text(self, "")};
    const struct {
        enum gw_record_type type;
        const uint64_t *words;
        uint32_t count;
    } said[] = {
        {GW_RECORD_process, process, GW_ARGS_process},   {GW_RECORD_thread, thread, GW_ARGS_thread},
        {GW_RECORD_device, device, GW_ARGS_device},      {GW_RECORD_stream, stream, GW_ARGS_stream},
        {GW_RECORD_gpu_clock, clock, GW_ARGS_gpu_clock}, {GW_RECORD_communicator, communicator, GW_ARGS_communicator},
        {GW_RECORD_own_time, own, GW_ARGS_own_time},     {GW_RECORD_coverage, coverage, GW_ARGS_coverage}};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        add(self, (struct gw_record){.type = said[i].type, .time_ns = self->now_ns}, said[i].words, said[i].count);
    }
    for (uint64_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        const uint64_t words[GW_ARGS_function] = {self->pid, KERNEL_HANDLE + k, add_text(self, kernels[k])};
        add(self, (struct gw_record){.type = GW_RECORD_function, .time_ns = self->now_ns}, words, GW_ARGS_function);
    }
}

struct gw_records *gw_small_run_records(unsigned seed)
{
    struct gw_records *records = calloc(1, sizeof(*records));
    struct gw_record_stream *streams = calloc(1, sizeof(*streams));
    if (!records || !streams) {
        abort();
    }
    *records = (struct gw_records){
        .streams = streams, .stream_count = 1, .trace_count = 1, .realtime_offset_ns = 1700000000000000000};
    struct writing self = {.stream = streams, .pid = 100 + seed, .tid = 100 + seed, .now_ns = 1000000};
    introduce(&self);
    for (unsigned step = 0; step < STEPS; step++) {
        add_range(&self, GW_NVTX_PUSH);
        add_copy(&self, GW_COPY_H2D, 65536);
        add_launch(&self, 0, 20000);
        add_launch(&self, 1, 30000);
        add_collective(&self);
        add_copy(&self, GW_COPY_D2H, 4);
        add_wait(&self);
        add_range(&self, GW_NVTX_POP);
    }
    gw_record_stream_close(streams);
    return records;
}

/* ---- bytes ---- */

uint8_t *gw_fuzz_patched(const uint8_t *bytes, size_t size, struct gw_fuzz_input *input, size_t *ret_size)
{
    uint8_t *patched = malloc(2 * size + 1);
    if (!patched) {
        abort();
    }
    memcpy(patched, bytes, size);
    size_t now = size;
    while (input->size && now) {
        const unsigned how = (unsigned)gw_fuzz_take(input, 1);
        const size_t at = gw_fuzz_take(input, 2) % now, left = now - at;
        size_t length = 1 + gw_fuzz_take(input, 1);
        switch (how % 8) {
        case 0: /* cut out */
            length = length < left ? length : left;
            memmove(patched + at, patched + at + length, left - length);
            now -= length;
            break;
        case 1: /* repeat */
            length = length < left ? length : left;
            if (now + length <= 2 * size) {
                memmove(patched + at + length, patched + at, left);
                now += length;
            }
            break;
        case 2: /* end there */
            now = at;
            break;
        default:
            for (size_t i = at, end = at + how % 8 - 2; i < now && i < end; i++) {
                patched[i] = (uint8_t)gw_fuzz_take(input, 1);
            }
            break;
        }
    }
    *ret_size = now;
    return patched;
}
