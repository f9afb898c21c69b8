#include "analyzer/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/export/output.h"
#include "analyzer/model/compiles.h"
#include "shim/api/functions.h"

struct source {
    const struct gw_model *model;
    const struct gw_budget *budget;
    const struct gw_exchanges *exchanges;
    const struct gw_compile *compiles;
    size_t compiles_count;
};

/* As RFC 4180: quoted when the text holds a comma, a quote or a line break. */
static void put_text(FILE *file, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"') {
            putc('"', file);
        }
        putc(*text, file);
    }
    putc('"', file);
}

static void put_time(FILE *file, uint64_t time_ns)
{
    if (time_ns != GW_TIME_UNKNOWN) {
        fprintf(file, "%" PRIu64, time_ns);
    }
}

static void put_call_id(FILE *file, const struct gw_model *model, uint32_t call)
{
    if (call != GW_NONE) {
        fprintf(file, "%" PRIu64, gw_call_id(model, call));
    }
}

static void write_calls(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("process,tid,depth,call_id,name,begin_ns,end_ns,result\n", file);
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        const struct gw_thread *thread = &model->threads[call->thread];
        bool ended = !(call->flags & (GW_CALL_NO_END | GW_CALL_END_LOST));
        fprintf(file, "%" PRIu32 ",%" PRIu32 ",%u,%" PRIu64 ",%s,%" PRIu64 ",", thread->process, thread->tid,
                (unsigned)call->depth, gw_call_id(model, (uint32_t)i), gw_function_name(call->function),
                call->begin_ns);
        put_time(file, ended ? call->end_ns : GW_TIME_UNKNOWN);
        putc(',', file);
        if (ended) {
            fprintf(file, "%" PRId32, call->result);
        }
        putc('\n', file);
    }
}

static void write_counted(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("process,tid,name,begin_ns,end_ns,count,total_ns\n", file);
    for (size_t i = 0; i < model->counted_count; i++) {
        const struct gw_counted *counted = &model->counted[i];
        const struct gw_thread *thread = &model->threads[counted->thread];
        fprintf(file, "%" PRIu32 ",%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu64 "\n", thread->process,
                thread->tid, gw_function_name(counted->function), counted->begin_ns, counted->end_ns, counted->count,
                counted->total_ns);
    }
}

static void write_ops(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("process,device,stream,kind,name,bytes,call_id,start_ns,end_ns,graph_node\n", file);
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        const struct gw_stream *stream = &model->streams[op->stream];
        const struct gw_device *device = &model->devices[stream->device];
        if (op->kind == GW_OP_HOST) {
            continue;
        }
        fprintf(file, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%s,", device->process, device->number, stream->number,
                gw_op_kind_name((enum gw_op_kind)op->kind));
        put_text(file, op->name == GW_NONE ? "" : model->names[op->name]);
        fprintf(file, ",%" PRIu64 ",", (uint64_t)op->size_bytes);
        put_call_id(file, model, op->call);
        putc(',', file);
        put_time(file, op->start_ns);
        putc(',', file);
        put_time(file, op->end_ns);
        putc(',', file);
        if (op->graph_node != GW_NONE) {
            fprintf(file, "%" PRIu32, op->graph_node);
        }
        putc('\n', file);
    }
}

static void write_collectives(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("comm,seq,rank,op,bytes,enqueue_ns,start_ns,end_ns,arrival_wait_ns,busbw_gbps\n", file);
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        const struct gw_communicator *communicator = &model->communicators[collective->communicator];
        const struct gw_op *op = collective->op == GW_NONE ? NULL : &model->ops[collective->op];
        if (collective->match == GW_NONE) {
            continue; /* the call failed, or was captured */
        }
        fprintf(file, "%016" PRIx64 ",%" PRIu32 ",%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",", communicator->id,
                collective->sequence, communicator->rank, gw_comm_kind_name((enum gw_comm_kind)collective->kind),
                collective->size_bytes, model->calls[collective->call].begin_ns);
        put_time(file, op ? op->start_ns : GW_TIME_UNKNOWN);
        putc(',', file);
        put_time(file, op ? op->end_ns : GW_TIME_UNKNOWN);
        putc(',', file);
        put_time(file, collective->arrival_wait_ns);
        putc(',', file);
        double bus_gbps = gw_exchange_bus_gbps(source->exchanges, model, collective);
        if (bus_gbps >= 0) {
            fprintf(file, "%.3f", bus_gbps);
        }
        putc('\n', file);
    }
}

static void write_steps(FILE *file, const struct source *source)
{
    fputs("process,step,begin_ns,end_ns,warmup\n", file);
    for (size_t i = 0; i < source->model->steps_count; i++) {
        const struct gw_step *step = &source->model->steps[i];
        fprintf(file, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%d\n", step->process, step->number,
                step->begin_ns, step->end_ns, step->warmup);
    }
}

static void write_gaps(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("process,device,begin_ns,end_ns,class,call_id\n", file);
    for (size_t i = 0; i < source->budget->gaps_count; i++) {
        const struct gw_gap *gap = &source->budget->gaps[i];
        const struct gw_device *device = &model->devices[gap->device];
        fprintf(file, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%s,", device->process, device->number,
                gap->begin_ns, gap->end_ns, gw_class_name((enum gw_class)gap->cls));
        put_call_id(file, model, gap->call);
        putc('\n', file);
    }
}

static void put_known(FILE *file, bool known, uint64_t value)
{
    if (known) {
        fprintf(file, "%" PRIu64, value);
    }
    putc(',', file);
}

static void write_compiles(FILE *file, const struct source *source)
{
    const struct gw_model *model = source->model;
    fputs("process,tid,kind,name,pid,begin_ns,end_ns,bytes,new,step,hash\n", file);
    for (size_t i = 0; i < source->compiles_count; i++) {
        const struct gw_compile *compile = &source->compiles[i];
        const bool threaded = compile->thread != GW_NONE, child = compile->compiler != GW_NONE;
        put_known(file, compile->process != GW_NONE, compile->process);
        put_known(file, threaded, threaded ? model->threads[compile->thread].tid : 0);
        fprintf(file, "%s,", gw_compile_kind_name((enum gw_compile_kind)compile->kind));
        put_text(file, gw_compile_name(model, compile));
        putc(',', file);
        put_known(file, child, child ? model->compilers[compile->compiler].pid : 0);
        fprintf(file, "%" PRIu64 ",%" PRIu64 ",", compile->begin_ns, compile->end_ns);
        put_known(file, compile->size_bytes != 0, compile->size_bytes);
        put_known(file, compile->hash != 0, compile->is_new);
        put_known(file, compile->step != GW_NONE, compile->step == GW_NONE ? 0 : model->steps[compile->step].number);
        if (compile->hash) {
            fprintf(file, "%016" PRIx64, compile->hash);
        }
        putc('\n', file);
    }
}

/* Writes the file beside the one it will replace. Returns 0 or a negative errno; the output is to be taken then only.
 */
static int write_file(const char *folder, const char *name, const struct source *source,
                      void (*write)(FILE *file, const struct source *source), struct gw_output *ret_output)
{
    char *path = NULL;
    struct gw_output output;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        return -ENOMEM;
    }
    int status = gw_output_open(&output, path);
    free(path);
    if (status) {
        return status;
    }
    write(output.file, source);
    status = gw_output_end(&output, 0);
    if (status) {
        return gw_output_take(&output, status);
    }
    *ret_output = output;
    return 0;
}

int gw_export_csv(const struct gw_model *model, const struct gw_budget *budget, const char *folder,
                  const char **ret_failed_file)
{
    static const struct {
        const char *name;
        void (*write)(FILE *file, const struct source *source);
    } files[] = {{"calls.csv", write_calls},      {"counted.csv", write_counted},
                 {"ops.csv", write_ops},          {"collectives.csv", write_collectives},
                 {"steps.csv", write_steps},      {"gaps.csv", write_gaps},
                 {"compiles.csv", write_compiles}};
    enum { FILE_COUNT = sizeof(files) / sizeof(files[0]) };
    struct gw_exchanges exchanges;
    struct source source = {.model = model, .budget = budget, .exchanges = &exchanges};
    struct gw_output outputs[FILE_COUNT];
    size_t written = 0;
    struct gw_compile *compiles = NULL;
    int status = gw_exchanges_init(&exchanges, model);
    status = status ? status : gw_compiles_list(model, &compiles, &source.compiles_count);
    source.compiles = compiles;
    while (written < FILE_COUNT && !status) {
        status = write_file(folder, files[written].name, &source, files[written].write, &outputs[written]);
        if (status) {
            *ret_failed_file = files[written].name;
        } else {
            written++;
        }
    }
    /* All or none: tables of two runs must not stand beside each other. */
    for (size_t i = 0; i < written; i++) {
        int taken = gw_output_take(&outputs[i], status);
        if (taken && !status) {
            *ret_failed_file = files[i].name;
        }
        status = status ? status : taken;
    }
    gw_exchanges_release(&exchanges);
    free(compiles);
    return status;
}
