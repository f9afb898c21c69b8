/*
 * Chrome trace events in the shape of Kineto (the PyTorch profiler), so that what reads its traces reads these:
 * categories cuda_runtime, cuda_driver, kernel, gpu_memcpy, gpu_memset, user_annotation and ac2g, correlation numbers,
 * ProfilerStep#N for steps. https://github.com/pytorch/kineto, libkineto/src/output_json.cpp.
 *
 * Kineto writes a trace for each rank, and which rank it is of into distributedInfo. A trace of several processes has
 * the metadata process_labels for each that has a rank: its text for people, rank and ranks for readers.
 */
#include "analyzer/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/export/json.h"
#include "analyzer/export/names.h"
#include "shim/api/functions.h"

struct chrome {
    const struct gw_model *model;
    const struct gw_names *names;
    struct gw_exchanges exchanges;
    struct gw_json json;
    uint32_t *pids; /* of the trace, by process */
};

/* Above those of Linux: for processes of other hosts and containers that have the pid of one before them. */
#define PID_AGAIN (1u << 22)

static int by_pid(const void *left, const void *right)
{
    const struct gw_process *const *a = left, *const *b = right;
    if ((*a)->pid != (*b)->pid)
        return (*a)->pid < (*b)->pid ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* Returns 0 or -ENOMEM. */
static int number_processes(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    const struct gw_process **list = calloc(model->processes_count + 1, sizeof(*list));
    chrome->pids = calloc(model->processes_count + 1, sizeof(*chrome->pids));
    if (!list || !chrome->pids) {
        free(list);
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->processes_count; i++)
        list[i] = &model->processes[i];
    qsort(list, model->processes_count, sizeof(*list), by_pid);
    for (size_t i = 0; i < model->processes_count; i++) {
        const uint32_t index = (uint32_t)(list[i] - model->processes);
        chrome->pids[index] = i && list[i - 1]->pid == list[i]->pid ? PID_AGAIN + index : list[i]->pid;
    }
    free(list);
    return 0;
}

static uint32_t thread_pid(const struct chrome *chrome, uint32_t thread)
{
    return chrome->pids[chrome->model->threads[thread].process];
}

/* GPUs are processes of the trace, by ordinal; by index where several processes may each have a GPU 0. */
static uint32_t gpu_pid(const struct gw_model *model, uint32_t device)
{
    return model->processes_count > 1 ? device : model->devices[device].number;
}

static void open_event(struct chrome *chrome, const char *phase, const char *category, const char *name, uint64_t pid,
                       uint64_t tid, uint64_t ts_ns)
{
    gw_json_open_map(&chrome->json, NULL);
    gw_json_text(&chrome->json, "ph", phase);
    if (category)
        gw_json_text(&chrome->json, "cat", category);
    gw_json_text(&chrome->json, "name", name);
    gw_json_number(&chrome->json, "pid", pid);
    gw_json_number(&chrome->json, "tid", tid);
    gw_json_us(&chrome->json, "ts", ts_ns);
}

static void put_slice(struct chrome *chrome, const char *category, const char *name, uint64_t pid, uint64_t tid,
                      uint64_t begin_ns, uint64_t end_ns)
{
    open_event(chrome, "X", category, name, pid, tid, begin_ns);
    gw_json_us(&chrome->json, "dur", end_ns - begin_ns);
    gw_json_open_map(&chrome->json, "args");
}

static void close_slice(struct chrome *chrome)
{
    gw_json_close_map(&chrome->json);
    gw_json_close_map(&chrome->json);
}

static void put_label(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid, const char *label)
{
    open_event(chrome, "M", NULL, what, pid, tid, chrome->model->run.begin_ns);
    gw_json_open_map(&chrome->json, "args");
    gw_json_text(&chrome->json, "name", label);
    close_slice(chrome);
}

static void put_rank(struct chrome *chrome, const struct gw_process *process, uint32_t pid)
{
    char label[48];
    int length = snprintf(label, sizeof(label), "rank %d", (int)process->rank);
    if (process->ranks)
        snprintf(label + length, sizeof(label) - (size_t)length, " of %u", process->ranks);
    open_event(chrome, "M", NULL, "process_labels", pid, 0, chrome->model->run.begin_ns);
    gw_json_open_map(&chrome->json, "args");
    gw_json_text(&chrome->json, "labels", label);
    gw_json_signed(&chrome->json, "rank", process->rank);
    if (process->ranks)
        gw_json_number(&chrome->json, "ranks", process->ranks);
    close_slice(chrome);
}

static void put_flow(struct chrome *chrome, const char *phase, uint32_t id, uint64_t pid, uint64_t tid, uint64_t ts_ns)
{
    open_event(chrome, phase, "ac2g", "ac2g", pid, tid, ts_ns);
    gw_json_number(&chrome->json, "id", id);
    if (*phase == 'f')
        gw_json_text(&chrome->json, "bp", "e");
    gw_json_close_map(&chrome->json);
}

static void write_labels(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    char label[2 * GW_DEVICE_NAME_BYTES];
    for (size_t i = 0; i < model->processes_count; i++) {
        const struct gw_process *process = &model->processes[i];
        put_label(chrome, "process_name", chrome->pids[i], 0, process->exe ? process->exe : "process");
        if (process->rank >= 0)
            put_rank(chrome, process, chrome->pids[i]);
    }
    for (size_t i = 0; i < model->threads_count; i++) {
        const struct gw_thread *thread = &model->threads[i];
        snprintf(label, sizeof(label), "thread %u (%s)", thread->tid, thread->name ? thread->name : "unnamed");
        put_label(chrome, "thread_name", chrome->pids[thread->process], thread->tid, label);
    }
    for (uint32_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        gw_names_device_lane(model, device, label, sizeof(label));
        put_label(chrome, "process_name", gpu_pid(model, i), 0, label);
    }
    for (size_t i = 0; i < model->streams_count; i++) {
        const struct gw_stream *stream = &model->streams[i];
        put_label(chrome, "thread_name", gpu_pid(model, stream->device), stream->number,
                  gw_stream_words(model, stream, label, sizeof(label)));
    }
}

static int write_calls(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    struct gw_correlator correlator;
    int status = gw_correlator_init(&correlator, model);
    for (uint32_t i = 0; !status && i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        const struct gw_function *row = gw_function_row(call->function);
        const struct gw_thread *thread = &model->threads[call->thread];
        put_slice(chrome, row && row->api == GW_API_DRV ? "cuda_driver" : "cuda_runtime",
                  gw_function_name(call->function), chrome->pids[thread->process], thread->tid, call->begin_ns,
                  call->end_ns);
        gw_json_number(&chrome->json, "correlation", gw_correlator_next(&correlator, model, i));
        if (call->result)
            gw_json_signed(&chrome->json, "result", call->result);
        close_slice(chrome);
        status = chrome->json.output->status;
    }
    gw_correlator_release(&correlator);
    return status;
}

static const char *memory_word(uint8_t kind)
{
    static const char *const words[] = {[GW_HOST_NOT] = "Device",
                                        [GW_HOST_PAGEABLE] = "Pageable",
                                        [GW_HOST_PINNED] = "Pinned",
                                        [GW_HOST_MANAGED] = "Managed",
                                        [GW_HOST_UNKNOWN] = "Unknown"};
    return words[kind <= GW_HOST_UNKNOWN ? kind : GW_HOST_UNKNOWN];
}

/* As PyTorch annotates its own NCCL kernels; of several that were grouped, the first. */
static void put_collective(struct chrome *chrome, uint32_t op)
{
    static const char *const names[] = {[GW_COMM_ALL_REDUCE] = "allreduce",
                                        [GW_COMM_REDUCE] = "reduce",
                                        [GW_COMM_REDUCE_SCATTER] = "reduce_scatter",
                                        [GW_COMM_BROADCAST] = "broadcast",
                                        [GW_COMM_ALL_GATHER] = "allgather",
                                        [GW_COMM_ALL_TO_ALL] = "all_to_all",
                                        [GW_COMM_GATHER] = "gather",
                                        [GW_COMM_SCATTER] = "scatter",
                                        [GW_COMM_SEND] = "send",
                                        [GW_COMM_RECV] = "recv"};
    const struct gw_model *model = chrome->model;
    uint32_t count = 0;
    const struct gw_collective *collective = gw_exchanges_of_op(&chrome->exchanges, model, op, &count);
    if (!collective || collective->kind >= GW_COMM_KIND_COUNT)
        return;
    const struct gw_communicator *communicator = &model->communicators[collective->communicator];
    struct gw_exchange_elements elements = gw_exchange_elements(model, collective);
    char id[24];
    snprintf(id, sizeof(id), "%016" PRIx64, communicator->id);
    gw_json_text(&chrome->json, "Collective name", names[collective->kind]);
    gw_json_number(&chrome->json, "In msg nelems", elements.in);
    gw_json_number(&chrome->json, "Out msg nelems", elements.out);
    gw_json_text(&chrome->json, "dtype", elements.type);
    gw_json_number(&chrome->json, "Group size", communicator->size);
    gw_json_text(&chrome->json, "Process Group Name", id);
    gw_json_number(&chrome->json, "Rank", communicator->rank);
    if (collective->kind == GW_COMM_SEND || collective->kind == GW_COMM_RECV)
        gw_json_number(&chrome->json, collective->kind == GW_COMM_SEND ? "Dst Rank" : "Src Rank", collective->rank);
    gw_json_number(&chrome->json, "Seq", collective->sequence);
    gw_json_number(&chrome->json, "grouped collectives", count);
    if (collective->arrival_wait_ns != GW_TIME_UNKNOWN)
        gw_json_us(&chrome->json, "wait for other ranks (us)", collective->arrival_wait_ns);
}

static void write_op(struct chrome *chrome, uint32_t index)
{
    const struct gw_model *model = chrome->model;
    const struct gw_op *op = &model->ops[index];
    const struct gw_stream *stream = &model->streams[op->stream];
    const struct gw_launch *launch = gw_launch_of_op(model, op);
    const struct gw_copy *copy = gw_copy_of_op(model, op);
    const char *name = gw_names_of_op(chrome->names, op, false), *category = "kernel";
    char text[96];
    if (op->kind == GW_OP_MEMSET) {
        category = "gpu_memset";
        name = "Memset (Device)";
    } else if (op->kind == GW_OP_H2D || op->kind == GW_OP_D2H || op->kind == GW_OP_D2D || op->kind == GW_OP_P2P) {
        uint8_t src = op->kind == GW_OP_H2D ? GW_HOST_UNKNOWN : GW_HOST_NOT;
        uint8_t dst = op->kind == GW_OP_D2H ? GW_HOST_UNKNOWN : GW_HOST_NOT;
        category = "gpu_memcpy";
        snprintf(text, sizeof(text), "%s (%s -> %s)", name, memory_word(copy ? copy->src_kind : src),
                 memory_word(copy ? copy->dst_kind : dst));
        name = text;
    }
    uint32_t pid = gpu_pid(model, stream->device);
    put_slice(chrome, category, name, pid, stream->number, op->start_ns, op->end_ns);
    gw_json_number(&chrome->json, "device", model->devices[stream->device].number);
    gw_json_number(&chrome->json, "stream", stream->number);
    if (op->outer_call != GW_NONE)
        gw_json_number(&chrome->json, "correlation", op->outer_call + 1);
    if (op->graph_node != GW_NONE)
        gw_json_number(&chrome->json, "graph node id", op->graph_node);
    if (*category == 'g') {
        gw_json_number(&chrome->json, "bytes", op->size_bytes);
        if (op->end_ns > op->start_ns)
            gw_json_real(&chrome->json, "memory bandwidth (GB/s)",
                         (double)op->size_bytes / (double)(op->end_ns - op->start_ns));
    } else if (launch) {
        gw_json_number(&chrome->json, "shared memory", launch->shared_bytes);
        gw_json_open_list(&chrome->json, "grid");
        for (int i = 0; i < 3; i++)
            gw_json_number(&chrome->json, NULL, launch->grid[i]);
        gw_json_close_list(&chrome->json);
        gw_json_open_list(&chrome->json, "block");
        for (int i = 0; i < 3; i++)
            gw_json_number(&chrome->json, NULL, launch->block[i]);
        gw_json_close_list(&chrome->json);
    }
    put_collective(chrome, index);
    close_slice(chrome);
    if (op->outer_call != GW_NONE) {
        const struct gw_call *call = &model->calls[op->outer_call];
        const struct gw_thread *thread = &model->threads[call->thread];
        put_flow(chrome, "s", op->outer_call + 1, thread_pid(chrome, call->thread), thread->tid, call->begin_ns);
        put_flow(chrome, "f", op->outer_call + 1, pid, stream->number, op->start_ns);
    }
}

/* The thread that enqueued the step's first operation, or the first of its process. */
static uint32_t step_tid(const struct gw_model *model, const struct gw_step *step)
{
    for (uint32_t i = 0; i < step->op_count; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[step->first_op + i]];
        if (op->call != GW_NONE)
            return model->threads[model->calls[op->call].thread].tid;
    }
    return model->processes[step->process].pid;
}

static void write_annotations(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    char name[32];
    for (size_t i = 0; i < model->ranges_count; i++) {
        const struct gw_range *range = &model->ranges[i];
        const struct gw_thread *thread = &model->threads[range->thread];
        put_slice(chrome, "user_annotation", model->names[range->name], thread_pid(chrome, range->thread), thread->tid,
                  range->begin_ns, range->end_ns);
        if (range->category_name)
            gw_json_text(&chrome->json, "category", model->names[range->category_name - 1]);
        if (range->payload_type)
            gw_json_payload(&chrome->json, "payload", range);
        close_slice(chrome);
    }
    for (size_t i = 0; i < model->steps_count; i++) {
        const struct gw_step *step = &model->steps[i];
        snprintf(name, sizeof(name), "ProfilerStep#%u", step->number);
        put_slice(chrome, "user_annotation", name, chrome->pids[step->process], step_tid(model, step), step->begin_ns,
                  step->end_ns);
        gw_json_bool(&chrome->json, "warm-up", step->warmup);
        close_slice(chrome);
    }
}

/* Compilers in processes of their own, as a thread of the process that executed them. */
static void write_compilers(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    char label[64];
    for (size_t i = 0; i < model->compilers_count; i++) {
        const struct gw_compiler *compiler = &model->compilers[i];
        const uint32_t pid = compiler->process == GW_NONE ? compiler->pid : chrome->pids[compiler->process];
        snprintf(label, sizeof(label), "process %u (%s)", compiler->pid, compiler->name);
        put_label(chrome, "thread_name", pid, compiler->pid, label);
        put_slice(chrome, "compiler", compiler->name, pid, compiler->pid, compiler->begin_ns, compiler->end_ns);
        if (compiler->input_bytes)
            gw_json_number(&chrome->json, "bytes", compiler->input_bytes);
        close_slice(chrome);
    }
}

static void write_devices(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    char name[GW_DEVICE_NAME_BYTES];
    gw_json_open_list(&chrome->json, "deviceProperties");
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        gw_json_open_map(&chrome->json, NULL);
        gw_json_number(&chrome->json, "id", device->number);
        gw_json_text(&chrome->json, "name", gw_names_of_device(model, device, name));
        gw_json_number(&chrome->json, "totalGlobalMem", device->memory_bytes);
        gw_json_number(&chrome->json, "computeMajor", device->compute_capability / 10);
        gw_json_number(&chrome->json, "computeMinor", device->compute_capability % 10);
        gw_json_number(&chrome->json, "numSms", device->multiprocessors);
        gw_json_close_map(&chrome->json);
    }
    gw_json_close_list(&chrome->json);
}

static int write_document(struct chrome *chrome)
{
    const struct gw_model *model = chrome->model;
    int32_t rank = model->processes_count == 1 ? model->processes[0].rank : -1;
    gw_json_open_map(&chrome->json, NULL);
    gw_json_number(&chrome->json, "schemaVersion", 1);
    write_devices(chrome);
    if (rank >= 0) {
        gw_json_open_map(&chrome->json, "distributedInfo");
        gw_json_signed(&chrome->json, "rank", rank);
        gw_json_close_map(&chrome->json);
    }
    gw_json_text(&chrome->json, "displayTimeUnit", "ms");
    gw_json_signed(&chrome->json, "baseTimeNanoseconds", model->run.realtime_offset_ns);
    gw_json_open_list(&chrome->json, "traceEvents");
    write_labels(chrome);
    int status = write_calls(chrome);
    for (uint32_t i = 0; !status && i < model->ops_count; i++) {
        if (gw_op_is_shown(&model->ops[i]))
            write_op(chrome, i);
        status = chrome->json.output->status;
    }
    write_annotations(chrome);
    write_compilers(chrome);
    gw_json_close_list(&chrome->json);
    gw_json_close_map(&chrome->json);
    return status;
}

int gw_export_chrome(const struct gw_model *model, const struct gw_budget *budget, const char *path)
{
    struct gw_names names;
    struct gw_output output;
    struct chrome chrome = {.model = model, .names = &names};
    (void)budget; /* a trace of this kind has no place for the causes of idle time */
    int status = gw_names_init(&names, model);
    int exchanges_status = gw_exchanges_init(&chrome.exchanges, model);
    status = status ? status : exchanges_status ? exchanges_status : number_processes(&chrome);
    status = status ? status : gw_output_open(&output, path);
    if (!status) {
        status = gw_json_init(&chrome.json, &output);
        status = status ? status : write_document(&chrome);
        gw_json_release(&chrome.json);
        status = gw_output_close(&output, status);
    }
    free(chrome.pids);
    gw_exchanges_release(&chrome.exchanges);
    gw_names_release(&names);
    return status;
}
