/* JSON Lines: an object a line, whose "type" says what it is; the same tables and names as the CSV files, and more. */
#include "analyzer/export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/export/json.h"
#include "analyzer/export/names.h"
#include "analyzer/model/compiles.h"
#include "shim/api/functions.h"

struct lines {
    const struct gw_model *model;
    const struct gw_names *names;
    struct gw_exchanges exchanges;
    struct gw_json json;
};

static void open_line(struct lines *lines, const char *type)
{
    gw_json_open_map(&lines->json, NULL);
    gw_json_text(&lines->json, "type", type);
}

/* Returns the status of writing so far. */
static int close_line(struct lines *lines)
{
    gw_json_close_map(&lines->json);
    gw_json_next_line(&lines->json);
    return lines->json.output->status;
}

static void put_time(struct lines *lines, const char *key, uint64_t time_ns)
{
    if (time_ns == GW_TIME_UNKNOWN)
        gw_json_null(&lines->json, key);
    else
        gw_json_number(&lines->json, key, time_ns);
}

static void put_index(struct lines *lines, const char *key, uint32_t index)
{
    if (index == GW_NONE)
        gw_json_null(&lines->json, key);
    else
        gw_json_number(&lines->json, key, index);
}

static void put_call_id(struct lines *lines, uint32_t call)
{
    if (call == GW_NONE)
        gw_json_null(&lines->json, "call_id");
    else
        gw_json_number(&lines->json, "call_id", gw_call_id(lines->model, call));
}

static int write_context(struct lines *lines)
{
    const struct gw_model *model = lines->model;
    open_line(lines, "run");
    gw_json_text(&lines->json, "schema", "gpuwitness.jsonl/1");
    gw_json_text(&lines->json, "device", model->run.device_kind);
    gw_json_number(&lines->json, "begin_ns", model->run.begin_ns);
    gw_json_number(&lines->json, "end_ns", model->run.end_ns);
    gw_json_signed(&lines->json, "realtime_offset_ns", model->run.realtime_offset_ns);
    int status = close_line(lines);
    for (uint32_t i = 0; i < model->processes_count && !status; i++) {
        const struct gw_process *process = &model->processes[i];
        open_line(lines, "process");
        gw_json_number(&lines->json, "process", i);
        gw_json_number(&lines->json, "pid", process->pid);
        if (process->rank < 0)
            gw_json_null(&lines->json, "rank");
        else
            gw_json_signed(&lines->json, "rank", process->rank);
        gw_json_text(&lines->json, "exe", process->exe);
        gw_json_text(&lines->json, "host", process->host);
        status = close_line(lines);
    }
    for (size_t i = 0; i < model->threads_count && !status; i++) {
        open_line(lines, "thread");
        gw_json_number(&lines->json, "process", model->threads[i].process);
        gw_json_number(&lines->json, "tid", model->threads[i].tid);
        gw_json_text(&lines->json, "name", model->threads[i].name);
        status = close_line(lines);
    }
    for (size_t i = 0; i < model->devices_count && !status; i++) {
        const struct gw_device *device = &model->devices[i];
        open_line(lines, "device");
        gw_json_number(&lines->json, "process", device->process);
        gw_json_number(&lines->json, "device", device->number);
        gw_json_text(&lines->json, "name", device->name);
        gw_json_text(&lines->json, "uuid", device->uuid);
        gw_json_text(&lines->json, "pci", device->pci);
        gw_json_number(&lines->json, "memory_bytes", device->memory_bytes);
        gw_json_number(&lines->json, "timing_floor_ns", device->timing_floor_ns);
        status = close_line(lines);
    }
    return status;
}

static int write_calls(struct lines *lines)
{
    const struct gw_model *model = lines->model;
    int status = 0;
    for (size_t i = 0; i < model->calls_count && !status; i++) {
        const struct gw_call *call = &model->calls[i];
        const struct gw_thread *thread = &model->threads[call->thread];
        bool ended = !(call->flags & (GW_CALL_NO_END | GW_CALL_END_LOST));
        open_line(lines, "call");
        gw_json_number(&lines->json, "process", thread->process);
        gw_json_number(&lines->json, "tid", thread->tid);
        gw_json_number(&lines->json, "depth", call->depth);
        gw_json_number(&lines->json, "call_id", gw_call_id(model, (uint32_t)i));
        gw_json_text(&lines->json, "name", gw_function_name(call->function));
        gw_json_number(&lines->json, "begin_ns", call->begin_ns);
        put_time(lines, "end_ns", ended ? call->end_ns : GW_TIME_UNKNOWN);
        if (ended)
            gw_json_signed(&lines->json, "result", call->result);
        else
            gw_json_null(&lines->json, "result");
        status = close_line(lines);
    }
    return status;
}

static int write_ops(struct lines *lines)
{
    const struct gw_model *model = lines->model;
    int status = 0;
    for (size_t i = 0; i < model->ops_count && !status; i++) {
        const struct gw_op *op = &model->ops[i];
        const struct gw_stream *stream = &model->streams[op->stream];
        const struct gw_device *device = &model->devices[stream->device];
        open_line(lines, "op");
        gw_json_number(&lines->json, "process", device->process);
        gw_json_number(&lines->json, "device", device->number);
        gw_json_number(&lines->json, "stream", stream->number);
        gw_json_text(&lines->json, "kind", gw_op_kind_name((enum gw_op_kind)op->kind));
        gw_json_text(&lines->json, "name", op->name == GW_NONE ? NULL : lines->names->full[op->name]);
        gw_json_number(&lines->json, "bytes", op->size_bytes);
        put_call_id(lines, op->call);
        put_time(lines, "start_ns", op->start_ns);
        put_time(lines, "end_ns", op->end_ns);
        gw_json_number(&lines->json, "error_ns", op->error_ns);
        put_index(lines, "graph_node", op->graph_node);
        status = close_line(lines);
    }
    return status;
}

static int write_steps(struct lines *lines, const struct gw_budget *budget)
{
    const struct gw_model *model = lines->model;
    int status = 0;
    for (size_t i = 0; i < model->ranges_count && !status; i++) {
        const struct gw_range *range = &model->ranges[i];
        open_line(lines, "range");
        gw_json_number(&lines->json, "process", model->threads[range->thread].process);
        gw_json_number(&lines->json, "tid", model->threads[range->thread].tid);
        gw_json_text(&lines->json, "name", model->names[range->name]);
        gw_json_text(&lines->json, "domain", range->domain == GW_NONE ? NULL : model->names[range->domain]);
        gw_json_text(&lines->json, "category", range->category_name ? model->names[range->category_name - 1] : NULL);
        gw_json_payload(&lines->json, "payload", range);
        gw_json_number(&lines->json, "begin_ns", range->begin_ns);
        gw_json_number(&lines->json, "end_ns", range->end_ns);
        status = close_line(lines);
    }
    for (size_t i = 0; i < model->steps_count && !status; i++) {
        const struct gw_step *step = &model->steps[i];
        open_line(lines, "step");
        gw_json_number(&lines->json, "process", step->process);
        gw_json_number(&lines->json, "step", step->number);
        gw_json_number(&lines->json, "begin_ns", step->begin_ns);
        gw_json_number(&lines->json, "end_ns", step->end_ns);
        gw_json_bool(&lines->json, "warmup", step->warmup);
        status = close_line(lines);
    }
    for (size_t i = 0; i < budget->cells_count && !status; i++) {
        const struct gw_step_budget *cell = &budget->cells[i];
        open_line(lines, "budget");
        gw_json_number(&lines->json, "process", model->steps[cell->step].process);
        gw_json_number(&lines->json, "step", model->steps[cell->step].number);
        gw_json_number(&lines->json, "device", model->devices[cell->device].number);
        gw_json_number(&lines->json, "begin_ns", budget->times[cell->step].begin_ns);
        gw_json_number(&lines->json, "end_ns", budget->times[cell->step].end_ns);
        gw_json_open_map(&lines->json, "ns");
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            gw_json_number(&lines->json, gw_class_name((enum gw_class)c), cell->ns[c]);
        gw_json_close_map(&lines->json);
        status = close_line(lines);
    }
    return status;
}

static int write_gaps(struct lines *lines, const struct gw_budget *budget)
{
    const struct gw_model *model = lines->model;
    int status = 0;
    for (size_t i = 0; i < budget->gaps_count && !status; i++) {
        const struct gw_gap *gap = &budget->gaps[i];
        open_line(lines, "gap");
        gw_json_number(&lines->json, "process", model->devices[gap->device].process);
        gw_json_number(&lines->json, "device", model->devices[gap->device].number);
        gw_json_number(&lines->json, "begin_ns", gap->begin_ns);
        gw_json_number(&lines->json, "end_ns", gap->end_ns);
        gw_json_text(&lines->json, "class", gw_class_name((enum gw_class)gap->cls));
        put_call_id(lines, gap->call);
        status = close_line(lines);
    }
    return status;
}

/* A buffer on the device, null where the collective has none of the kind. */
static void put_buffer(struct lines *lines, const char *key, uint64_t address)
{
    char text[24];
    if (!address) {
        gw_json_null(&lines->json, key);
        return;
    }
    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    gw_json_text(&lines->json, key, text);
}

/* The columns of collectives.csv, with the process, the ranks seen, the buffers, and the time of the transfer. */
static int write_collectives(struct lines *lines)
{
    const struct gw_model *model = lines->model;
    int status = 0;
    for (size_t i = 0; i < model->collectives_count && !status; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        const struct gw_communicator *communicator = &model->communicators[collective->communicator];
        const struct gw_op *op = collective->op == GW_NONE ? NULL : &model->ops[collective->op];
        double bus_gbps = gw_exchange_bus_gbps(&lines->exchanges, model, collective);
        char id[24];
        if (collective->match == GW_NONE)
            continue; /* the call failed */
        snprintf(id, sizeof(id), "%016" PRIx64, communicator->id);
        open_line(lines, "collective");
        gw_json_number(&lines->json, "process", communicator->process);
        gw_json_text(&lines->json, "comm", id);
        gw_json_number(&lines->json, "seq", collective->sequence);
        gw_json_number(&lines->json, "rank", communicator->rank);
        gw_json_number(&lines->json, "ranks", communicator->size);
        gw_json_number(&lines->json, "ranks_seen", collective->matched);
        gw_json_text(&lines->json, "op", gw_comm_kind_name((enum gw_comm_kind)collective->kind));
        gw_json_number(&lines->json, "bytes", collective->size_bytes);
        put_buffer(lines, "send", collective->send);
        put_buffer(lines, "recv", collective->recv);
        put_call_id(lines, collective->call);
        gw_json_number(&lines->json, "enqueue_ns", model->calls[collective->call].begin_ns);
        put_time(lines, "start_ns", op ? op->start_ns : GW_TIME_UNKNOWN);
        put_time(lines, "end_ns", op ? op->end_ns : GW_TIME_UNKNOWN);
        put_time(lines, "arrival_wait_ns", collective->arrival_wait_ns);
        put_time(lines, "transfer_ns", collective->transfer_ns);
        if (bus_gbps < 0)
            gw_json_null(&lines->json, "busbw_gbps");
        else
            gw_json_real(&lines->json, "busbw_gbps", bus_gbps);
        status = close_line(lines);
    }
    return status;
}

static void put_known(struct lines *lines, const char *key, bool known, uint64_t number)
{
    if (known)
        gw_json_number(&lines->json, key, number);
    else
        gw_json_null(&lines->json, key);
}

/* The columns of compiles.csv. */
static int write_compiles(struct lines *lines)
{
    const struct gw_model *model = lines->model;
    struct gw_compile *list = NULL;
    size_t count = 0;
    int status = gw_compiles_list(model, &list, &count);
    for (size_t i = 0; i < count && !status; i++) {
        const struct gw_compile *compile = &list[i];
        const bool threaded = compile->thread != GW_NONE, child = compile->compiler != GW_NONE;
        const bool placed = compile->step != GW_NONE;
        char hash[24];
        open_line(lines, "compile");
        put_known(lines, "process", compile->process != GW_NONE, compile->process);
        put_known(lines, "tid", threaded, threaded ? model->threads[compile->thread].tid : 0);
        gw_json_text(&lines->json, "kind", gw_compile_kind_name((enum gw_compile_kind)compile->kind));
        gw_json_text(&lines->json, "name", gw_compile_name(model, compile));
        put_known(lines, "pid", child, child ? model->compilers[compile->compiler].pid : 0);
        gw_json_number(&lines->json, "begin_ns", compile->begin_ns);
        gw_json_number(&lines->json, "end_ns", compile->end_ns);
        put_known(lines, "bytes", compile->size_bytes != 0, compile->size_bytes);
        put_known(lines, "step", placed, placed ? model->steps[compile->step].number : 0);
        if (compile->hash) {
            snprintf(hash, sizeof(hash), "%016" PRIx64, compile->hash);
            gw_json_bool(&lines->json, "new", compile->is_new);
            gw_json_text(&lines->json, "hash", hash);
        } else {
            gw_json_null(&lines->json, "new");
            gw_json_null(&lines->json, "hash");
        }
        status = close_line(lines);
    }
    free(list);
    return status;
}

int gw_export_jsonl(const struct gw_model *model, const struct gw_budget *budget, const char *path)
{
    struct gw_names names;
    struct gw_output output;
    struct lines lines = {.model = model, .names = &names};
    int status = gw_names_init(&names, model), exchanges_status = gw_exchanges_init(&lines.exchanges, model);
    status = status ? status : exchanges_status ? exchanges_status : gw_output_open(&output, path);
    if (!status) {
        status = gw_json_init(&lines.json, &output);
        status = status ? status : write_context(&lines);
        status = status ? status : write_calls(&lines);
        status = status ? status : write_ops(&lines);
        status = status ? status : write_collectives(&lines);
        status = status ? status : write_steps(&lines, budget);
        status = status ? status : write_gaps(&lines, budget);
        status = status ? status : write_compiles(&lines);
        gw_json_release(&lines.json);
        status = gw_output_close(&output, status);
    }
    gw_exchanges_release(&lines.exchanges);
    gw_names_release(&names);
    return status;
}
