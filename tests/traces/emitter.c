/*
 * Writes the events of a small imaginary training loop through the real provider, so that readers can be tested without
 * the shim and without a device: emitter STEPS [CALLS]. CALLS more plain calls follow, for measuring. Leaves a call
 * that never returns at the end.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "shim/tracer/events.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "shim/api/codes.h"
#include "shim/api/functions.h"

#define DEVICE 0u
#define STREAM_HANDLE 0x5500a000u
#define KERNEL_HANDLE 0x5500b000u

struct emitter {
    uint32_t pid, tid;
    uint64_t sequence;
    uint64_t device_ns; /* when the stream is done with what it has */
};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t site(const struct emitter *self, const char *function, unsigned depth, unsigned flags)
{
    return GW_SITE(self->pid, gw_function_find(function), depth, flags);
}

static void device_op(struct emitter *self, uint64_t call, unsigned kind, uint64_t duration_ns)
{
    uint64_t start_ns = now_ns() > self->device_ns ? now_ns() : self->device_ns;
    self->device_ns = start_ns + duration_ns;
    lttng_ust_tracepoint(gpuwitness, gpu_op, call, GW_WHERE(self->pid, DEVICE, kind, 1, 0), STREAM_HANDLE, start_ns,
                         self->device_ns, 100);
}

static void launch(struct emitter *self, uint64_t kernel, uint64_t duration_ns)
{
    uint64_t call = GW_CALL_ID(self->tid, ++self->sequence), outer_ns = now_ns(), inner_ns = now_ns();
    const uint64_t inner[] = {inner_ns,
                              call,
                              site(self, "cuLaunchKernel", 2, 1),
                              0,
                              KERNEL_HANDLE + kernel,
                              STREAM_HANDLE,
                              8ull | 1ull << 32 | 1ull << 48,
                              128ull | 1ull << 12 | 1ull << 24};
    const uint64_t outer[] = {outer_ns, call, site(self, "cudaLaunchKernel", 1, 0), 0};
    lttng_ust_tracepoint(gpuwitness, launch, inner);
    lttng_ust_tracepoint(gpuwitness, call, outer);
    device_op(self, call, GW_GPU_OP_KERNEL, duration_ns);
}

static void copy(struct emitter *self, enum gw_copy_direction direction, uint64_t bytes)
{
    uint64_t call = GW_CALL_ID(self->tid, ++self->sequence), begin_ns = now_ns();
    bool up = direction == GW_COPY_H2D;
    const uint64_t words[] = {
        begin_ns,
        call,
        site(self, "cudaMemcpyAsync", 1, 1),
        0,
        0x1000,
        0x2000,
        bytes,
        STREAM_HANDLE,
        GW_COPY_HOW(direction, up ? GW_HOST_PAGEABLE : GW_HOST_NOT, up ? GW_HOST_NOT : GW_HOST_PINNED, 0),
        0};
    lttng_ust_tracepoint(gpuwitness, copy, words);
    device_op(self, call, GW_GPU_OP_COPY, 1000 + bytes / 10);
}

static void synchronise(struct emitter *self)
{
    uint64_t call = GW_CALL_ID(self->tid, ++self->sequence), begin_ns = now_ns();
    const uint64_t entry[] = {call, site(self, "cudaStreamSynchronize", 1, 0)};
    const uint64_t words[] = {begin_ns,
                              call,
                              site(self, "cudaStreamSynchronize", 1, GW_SITE_HAS_BEGIN),
                              0,
                              STREAM_HANDLE,
                              0,
                              GW_ORDER_STREAM_SYNC,
                              0};
    lttng_ust_tracepoint(gpuwitness, call_begin, entry);
    while (now_ns() < self->device_ns) {
    }
    lttng_ust_tracepoint(gpuwitness, order, words);
}

static void introduce(const struct emitter *self)
{
    static const char *const kernels[] = {"_Z7forwardIfLi4EEvPKT_PS0_i", "_Z8backwardPfi", "optimizer"};
    lttng_ust_tracepoint(gpuwitness, process, self->pid, 1, "/bin/emitter", "emitter", "host", "RANK=0\nWORLD_SIZE=1");
    lttng_ust_tracepoint(gpuwitness, thread, self->pid, self->tid, "main");
    lttng_ust_tracepoint(gpuwitness, device, self->pid, DEVICE, "Imaginary GPU", "uuid", "0000:01:00.0", 1u << 30,
                         132ull | 90ull << 32);
    lttng_ust_tracepoint(gpuwitness, stream, self->pid, DEVICE, STREAM_HANDLE, 1, GW_STREAM_NON_BLOCKING);
    lttng_ust_tracepoint(gpuwitness, gpu_clock, self->pid, DEVICE, GW_TIMING_EVENTS, now_ns(), 200, 1500);
    for (uint64_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        lttng_ust_tracepoint(gpuwitness, function, self->pid, KERNEL_HANDLE + k, kernels[k]);
    }
}

int main(int argc, char **argv)
{
    struct emitter self = {.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid()};
    unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (!steps) {
        fputs("usage: emitter STEPS [CALLS]\n", stderr);
        return 2;
    }
    introduce(&self);
    for (unsigned long s = 0; s < steps; s++) {
        copy(&self, GW_COPY_H2D, 65536);
        launch(&self, 0, 20000);
        launch(&self, 0, 20000);
        launch(&self, 1, 30000);
        launch(&self, 2, 5000);
        copy(&self, GW_COPY_D2H, 4);
        synchronise(&self);
    }
    for (unsigned long c = 0; c < calls; c++) {
        const uint64_t head[] = {now_ns(), GW_CALL_ID(self.tid, ++self.sequence), site(&self, "cudaGetDevice", 1, 0),
                                 0};
        lttng_ust_tracepoint(gpuwitness, call, head);
    }
    const uint64_t last[] = {GW_CALL_ID(self.tid, ++self.sequence), site(&self, "cudaDeviceSynchronize", 1, 0)};
    lttng_ust_tracepoint(gpuwitness, call_begin, last);
    return 0;
}
