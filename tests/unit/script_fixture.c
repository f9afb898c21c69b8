#include "tests/unit/model_fixture.h"

#define SCRIPT_EVENT 0xe0u

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void gw_script_begin(struct gw_script *script)
{
    *script = (struct gw_script){.fixture = gw_fixture_create(), .now_ns = 1000000};
    script->thread = gw_fixture_thread(script->fixture, 100);
    script->device = gw_fixture_device(script->fixture, 0);
    for (uint32_t i = 0; i < 3; i++)
        script->streams[i] =
            gw_fixture_stream(script->fixture, script->device, i, i == 0 ? GW_STREAM_LEGACY : GW_STREAM_NON_BLOCKING);
}

struct gw_model *gw_script_end(struct gw_script *script)
{
    return gw_fixture_finish(script->fixture);
}

void gw_script_end_step(struct gw_script *script, bool warmup)
{
    gw_fixture_step(script->fixture, script->step_begin_ns, script->now_ns, warmup);
    script->in_step = false;
}

void gw_script_step(struct gw_script *script, bool warmup)
{
    if (script->in_step)
        gw_script_end_step(script, warmup);
    script->step_begin_ns = script->now_ns;
    script->in_step = true;
}

void gw_script_think(struct gw_script *script, uint64_t ns)
{
    if (ns >= 20000)
        gw_fixture_gap(script->fixture, script->thread, script->now_ns, script->now_ns + ns, ns);
    script->now_ns += ns;
}

void gw_script_blocked(struct gw_script *script, uint64_t ns)
{
    gw_fixture_gap(script->fixture, script->thread, script->now_ns, script->now_ns + ns, 0);
    script->now_ns += ns;
}

uint32_t gw_script_call(struct gw_script *script, const char *function, uint64_t ns)
{
    uint32_t call = gw_fixture_call(script->fixture, script->thread, function, script->now_ns, script->now_ns + ns, 1);
    script->now_ns += ns;
    return call;
}

/* The call just made ends when `until_ns` has passed, and 1 µs later when it had to wait for that. */
static void wait_in_call(struct gw_script *script, uint32_t call, uint64_t until_ns)
{
    if (until_ns > script->now_ns)
        script->now_ns = until_ns + 1000;
    gw_fixture_model(script->fixture)->calls[call].end_ns = script->now_ns;
}

uint32_t gw_script_launch(struct gw_script *script, int stream, const char *name, uint64_t duration_ns)
{
    uint64_t start = max_u64(script->now_ns + GW_SCRIPT_LATENCY_NS, script->stream_end_ns[stream]);
    uint32_t call = gw_script_call(script, "cudaLaunchKernel", GW_SCRIPT_CALL_NS);
    uint32_t op =
        gw_fixture_op(script->fixture, call, script->streams[stream], GW_OP_KERNEL, start, start + duration_ns);
    gw_fixture_op_name(script->fixture, op, name);
    script->stream_end_ns[stream] = start + duration_ns;
    return call;
}

void gw_script_launch_blocking(struct gw_script *script, int stream, const char *name, uint64_t duration_ns)
{
    uint32_t call = gw_script_launch(script, stream, name, duration_ns);
    wait_in_call(script, call, script->stream_end_ns[stream]);
}

void gw_script_copy(struct gw_script *script, int stream, struct gw_copy copy, uint64_t duration_ns)
{
    uint64_t *engine = copy.direction == GW_COPY_D2H ? &script->d2h_free_ns : &script->h2d_free_ns;
    uint64_t start = max_u64(script->now_ns + GW_SCRIPT_LATENCY_NS, max_u64(script->stream_end_ns[stream], *engine));
    uint32_t call = gw_script_call(script, copy.blocking ? "cudaMemcpy" : "cudaMemcpyAsync", GW_SCRIPT_CALL_NS);
    uint32_t op = gw_fixture_op(script->fixture, call, script->streams[stream],
                                copy.direction == GW_COPY_D2H ? GW_OP_D2H : GW_OP_H2D, start, start + duration_ns);
    gw_fixture_model(script->fixture)->ops[op].size_bytes = copy.size_bytes;
    copy.stream = script->streams[stream];
    gw_fixture_copy_detail(script->fixture, call, copy);
    script->stream_end_ns[stream] = *engine = start + duration_ns;
    if (copy.blocking)
        wait_in_call(script, call, start + duration_ns);
}

void gw_script_stream_sync(struct gw_script *script, int stream)
{
    uint32_t call = gw_script_call(script, "cudaStreamSynchronize", GW_SCRIPT_CALL_NS);
    struct gw_order order = {.stream = script->streams[stream], .what = GW_ORDER_STREAM_SYNC};
    gw_fixture_order_detail(script->fixture, call, order);
    wait_in_call(script, call, script->stream_end_ns[stream]);
}

void gw_script_device_sync(struct gw_script *script)
{
    uint32_t call = gw_script_call(script, "cudaDeviceSynchronize", GW_SCRIPT_CALL_NS);
    struct gw_order order = {.stream = GW_NONE, .what = GW_ORDER_DEVICE_SYNC};
    gw_fixture_order_detail(script->fixture, call, order);
    wait_in_call(script, call, max_u64(script->stream_end_ns[1], script->stream_end_ns[2]));
}

void gw_script_record(struct gw_script *script, int stream)
{
    uint32_t call = gw_script_call(script, "cudaEventRecord", GW_SCRIPT_CALL_NS);
    struct gw_order order = {.event = SCRIPT_EVENT, .stream = script->streams[stream], .what = GW_ORDER_EVENT_RECORD};
    gw_fixture_order_detail(script->fixture, call, order);
    script->recorded_ns = script->stream_end_ns[stream];
}

void gw_script_wait(struct gw_script *script, int stream)
{
    uint32_t call = gw_script_call(script, "cudaStreamWaitEvent", GW_SCRIPT_CALL_NS);
    struct gw_order order = {
        .event = SCRIPT_EVENT, .stream = script->streams[stream], .what = GW_ORDER_STREAM_WAIT_EVENT};
    gw_fixture_order_detail(script->fixture, call, order);
    script->stream_end_ns[stream] = max_u64(script->stream_end_ns[stream], script->recorded_ns);
}

void gw_script_free(struct gw_script *script, uint64_t own_ns)
{
    uint32_t call = gw_script_call(script, "cudaFree", own_ns);
    struct gw_memory memory = {.stream = GW_NONE, .kind = GW_MEMORY_DEVICE + GW_MEMORY_FREE};
    gw_fixture_memory_detail(script->fixture, call, memory);
    uint64_t busy = max_u64(script->stream_end_ns[1], script->stream_end_ns[2]);
    if (busy + own_ns > script->now_ns) {
        script->now_ns = busy + own_ns;
        gw_fixture_model(script->fixture)->calls[call].end_ns = script->now_ns;
    }
}
