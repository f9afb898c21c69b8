/* A recorded run made in memory, for the tests of the model builder. */
#ifndef GW_TESTS_UNIT_TRACE_RECORDS_H
#define GW_TESTS_UNIT_TRACE_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/build.h"
#include "shim/api/functions.h"

#define PID 77u
#define TID 78u
#define STREAM 0x5000u
#define KERNEL 0x6000u

struct trace {
    struct gw_records records;
    struct gw_record_stream streams[2];
    struct gw_run_file run;
    char *command[2];
    struct gw_model *model;
};

static inline void begin_trace(struct trace *trace)
{
    static char word[] = "program";
    *trace = (struct trace){.run = {.complete = true}};
    trace->command[0] = word;
    trace->run.command = trace->command;
    trace->records = (struct gw_records){.streams = trace->streams, .stream_count = 2};
}

static inline void add(struct trace *trace, int stream, struct gw_record record, const uint64_t *words, uint32_t count)
{
    assert_int_equal(gw_record_stream_append(&trace->streams[stream], &record, words, count), 0);
}

static inline uint64_t site(const char *function, unsigned depth, unsigned flags)
{
    unsigned id = gw_function_find(function);
    assert_int_not_equal(id, GW_FUNCTION_NONE);
    return GW_SITE(PID, id, depth, flags);
}

static inline void add_call(struct trace *trace, uint64_t sequence, const char *function, unsigned depth,
                            uint64_t begin_ns, uint64_t end_ns, unsigned flags)
{
    add(trace, 0,
        (struct gw_record){.type = GW_RECORD_call,
                           .time_ns = end_ns,
                           .begin_ns = begin_ns,
                           .call = GW_CALL_ID(TID, sequence),
                           .site = site(function, depth, flags)},
        NULL, 0);
}

static inline void add_launch(struct trace *trace, uint64_t sequence, uint64_t begin_ns, uint64_t end_ns,
                              unsigned flags)
{
    const uint64_t words[GW_ARGS_launch] = {[GW_ARG_launch_func] = KERNEL,
                                            [GW_ARG_launch_stream] = STREAM,
                                            [GW_ARG_launch_grid] = 70000ull | 3ull << 32 | 2ull << 48,
                                            [GW_ARG_launch_block] = 8ull | 1000ull << 12 | 4ull << 24 | 512ull << 32};
    add(trace, 0,
        (struct gw_record){.type = GW_RECORD_launch,
                           .time_ns = end_ns,
                           .begin_ns = begin_ns,
                           .call = GW_CALL_ID(TID, sequence),
                           .site = site("cuLaunchKernel", 2, flags)},
        words, GW_ARGS_launch);
}

static inline void add_copy(struct trace *trace, uint64_t sequence, uint64_t begin_ns, uint64_t end_ns, uint64_t stream)
{
    const uint64_t words[GW_ARGS_copy] = {[GW_ARG_copy_bytes] = 4096,
                                          [GW_ARG_copy_stream] = stream,
                                          [GW_ARG_copy_how] =
                                              GW_COPY_HOW(GW_COPY_H2D, GW_HOST_PAGEABLE, GW_HOST_NOT, 1)};
    add(trace, 0,
        (struct gw_record){.type = GW_RECORD_copy,
                           .time_ns = end_ns,
                           .begin_ns = begin_ns,
                           .call = GW_CALL_ID(TID, sequence),
                           .site = site("cuMemcpyHtoDAsync_v2", 1, 1)},
        words, GW_ARGS_copy);
}

static inline void add_gpu_op(struct trace *trace, uint64_t sequence, unsigned device, unsigned kind, uint64_t start_ns,
                              uint64_t end_ns)
{
    const uint64_t words[GW_ARGS_gpu_op] = {
        [GW_ARG_gpu_op_stream] = STREAM, [GW_ARG_gpu_op_end] = end_ns, [GW_ARG_gpu_op_error] = 150};
    add(trace, 1,
        (struct gw_record){.type = GW_RECORD_gpu_op,
                           .time_ns = end_ns + 10,
                           .begin_ns = start_ns,
                           .call = GW_CALL_ID(TID, sequence),
                           .site = GW_WHERE(PID, device, kind, 1, GW_GPU_OP_START_SHARED)},
        words, GW_ARGS_gpu_op);
}

static inline void add_stream(struct trace *trace, uint64_t time_ns, unsigned device, uint64_t handle, unsigned number)
{
    const uint64_t words[GW_ARGS_stream] = {PID, device, handle, number, 0};
    add(trace, 1, (struct gw_record){.type = GW_RECORD_stream, .time_ns = time_ns}, words, GW_ARGS_stream);
}

static inline void add_device(struct trace *trace, uint64_t time_ns, unsigned device)
{
    uint64_t words[GW_ARGS_device] = {[GW_ARG_device_pid] = PID, [GW_ARG_device_device] = device};
    assert_int_equal(gw_record_stream_add_text(&trace->streams[1], "GPU", 3, &words[GW_ARG_device_name]), 0);
    words[GW_ARG_device_uuid] = words[GW_ARG_device_pci] = words[GW_ARG_device_name];
    add(trace, 1, (struct gw_record){.type = GW_RECORD_device, .time_ns = time_ns}, words, GW_ARGS_device);
}

static inline void add_function(struct trace *trace, uint64_t time_ns, const char *name)
{
    uint64_t words[GW_ARGS_function] = {[GW_ARG_function_pid] = PID, [GW_ARG_function_func] = KERNEL};
    assert_int_equal(gw_record_stream_add_text(&trace->streams[1], name, strlen(name), &words[GW_ARG_function_name]),
                     0);
    add(trace, 1, (struct gw_record){.type = GW_RECORD_function, .time_ns = time_ns}, words, GW_ARGS_function);
}

static inline void add_begin(struct trace *trace, uint64_t sequence, const char *function, uint64_t time_ns)
{
    add(trace, 0,
        (struct gw_record){.type = GW_RECORD_call_begin,
                           .time_ns = time_ns,
                           .call = GW_CALL_ID(TID, sequence),
                           .site = site(function, 1, 0)},
        NULL, 0);
}

static inline void add_gap(struct trace *trace, uint64_t sequence, uint64_t begin_ns, const uint64_t *words)
{
    add(trace, 0,
        (struct gw_record){.type = GW_RECORD_thread_gap,
                           .time_ns = words[GW_ARG_thread_gap_end],
                           .begin_ns = begin_ns,
                           .call = GW_CALL_ID(TID, sequence)},
        words, GW_ARGS_thread_gap);
}

static inline struct gw_model *build(struct trace *trace)
{
    struct gw_error error = {""};
    const struct gw_model_input input = {.run = &trace->run, .records = &trace->records};
    assert_int_equal(gw_model_build_from_records("run", &input, 1, NULL, &trace->model, &error), 0);
    return trace->model;
}

static inline void end_trace(struct trace *trace)
{
    gw_model_destroy(trace->model);
    gw_record_stream_clear(&trace->streams[0]);
    gw_record_stream_clear(&trace->streams[1]);
}

#endif
