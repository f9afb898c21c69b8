/*
 * A Perfetto trace (ui.perfetto.dev): a process's threads, steps and GPUs as tracks, a GPU's streams and idle time
 * below it, an arrow from each call to what it enqueued.
 */
#include "analyzer/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/export/names.h"
#include "analyzer/export/perfetto_writer.h"
#include "shim/api/functions.h"

#define DEPTH_MAX 64u

/* Track ids: kind in the upper bits, so that none is 0 and none twice. Overlapping operations of a stream get lanes. */
enum track_kind {
    TRACK_PROCESS = 1,
    TRACK_THREAD,
    TRACK_DEVICE,
    TRACK_STREAM,
    TRACK_STEPS,
    TRACK_IDLE,
    TRACK_RANGES,
    TRACK_EXCHANGES,
    TRACK_COMPILER
};
#define TRACK(kind, index) ((uint64_t)(kind) << 56 | (uint64_t)(index) << 16)
#define LANES_MAX 0xffffu

/* Interned names: functions, kinds of operations, classes of idle time, then names of kernels, folded, and names of
 * ranges, as they are. */
#define FUNCTION_IID(function) ((uint64_t)(function) + 1)
#define KIND_IID(kind) ((uint64_t)GW_FUNCTION_COUNT + 1 + (kind))
#define CLASS_IID(cls) (KIND_IID(GW_OP_KIND_COUNT) + (cls))
#define NAME_IID(index) (CLASS_IID(GW_CLASS_COUNT) + (index))
#define RANGE_IID(names, index) (NAME_IID((names)->count) + (index))

struct perfetto {
    const struct gw_model *model;
    const struct gw_names *names;
    struct gw_exchanges exchanges;
    struct gw_perfetto writer;
    uint8_t *enqueues; /* a bit a call: it enqueued something that is shown */
};

static void intern_all(struct perfetto *self)
{
    for (unsigned i = 0; i < GW_FUNCTION_COUNT; i++)
        gw_perfetto_intern(&self->writer, FUNCTION_IID(i), gw_function_name(i));
    for (unsigned i = 0; i < GW_OP_KIND_COUNT; i++) {
        const struct gw_op op = {.kind = (uint8_t)i, .name = GW_NONE};
        gw_perfetto_intern(&self->writer, KIND_IID(i), gw_names_of_op(self->names, &op, true));
    }
    for (unsigned i = 0; i < GW_CLASS_COUNT; i++)
        gw_perfetto_intern(&self->writer, CLASS_IID(i), gw_class_words((enum gw_class)i));
    for (size_t i = 0; i < self->names->count; i++) {
        gw_perfetto_intern(&self->writer, NAME_IID(i), self->names->brief[i]);
        gw_perfetto_intern_value(&self->writer, i + 1, self->names->full[i]);
    }
}

static int write_tracks(struct perfetto *self)
{
    const struct gw_model *model = self->model;
    char text[2 * GW_DEVICE_NAME_BYTES];
    for (size_t i = 0; i < model->processes_count; i++) {
        char *exe = gw_names_utf8(model->processes[i].exe);
        if (!exe)
            return -ENOMEM;
        gw_perfetto_process_track(&self->writer, TRACK(TRACK_PROCESS, i), model->processes[i].pid, exe);
        gw_perfetto_track(&self->writer, TRACK(TRACK_STEPS, i), TRACK(TRACK_PROCESS, i), "steps");
        free(exe);
    }
    for (size_t i = 0; i < model->threads_count; i++) {
        const struct gw_thread *thread = &model->threads[i];
        char *name = gw_names_utf8(thread->name);
        if (!name)
            return -ENOMEM;
        gw_perfetto_thread_track(&self->writer, TRACK(TRACK_THREAD, i), TRACK(TRACK_PROCESS, thread->process),
                                 model->processes[thread->process].pid, thread->tid, name);
        free(name);
    }
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        gw_names_device_lane(model, device, text, sizeof(text));
        gw_perfetto_track(&self->writer, TRACK(TRACK_DEVICE, i), TRACK(TRACK_PROCESS, device->process), text);
        gw_perfetto_track(&self->writer, TRACK(TRACK_IDLE, i), TRACK(TRACK_DEVICE, i), "idle, by cause");
    }
    return self->writer.output->status;
}

/* Slices of one track, each within the one before it or after it. */
struct stack {
    struct gw_perfetto *writer;
    uint64_t track;
    uint64_t ends_ns[DEPTH_MAX];
    unsigned depth;
};

static void close_until(struct stack *stack, uint64_t time_ns)
{
    while (stack->depth && stack->ends_ns[stack->depth - 1] <= time_ns)
        gw_perfetto_end(stack->writer, stack->track, stack->ends_ns[--stack->depth]);
}

/* A slice that outlasts the one round it is cut there; one nested too deep is left out. */
static void push(struct stack *stack, const struct gw_perfetto_slice *slice, uint64_t begin_ns, uint64_t end_ns)
{
    close_until(stack, begin_ns);
    if (stack->depth == DEPTH_MAX)
        return;
    if (stack->depth && end_ns > stack->ends_ns[stack->depth - 1])
        end_ns = stack->ends_ns[stack->depth - 1];
    gw_perfetto_begin(stack->writer, slice, begin_ns);
    if (end_ns > begin_ns)
        stack->ends_ns[stack->depth++] = end_ns;
    else
        gw_perfetto_end(stack->writer, stack->track, begin_ns);
}

static bool enqueues(const struct perfetto *self, uint32_t call)
{
    return self->enqueues[call / 8] >> (call % 8) & 1;
}

static void write_calls(struct perfetto *self, uint32_t thread)
{
    const struct gw_model *model = self->model;
    const uint32_t *calls = model->thread_calls + model->threads[thread].call_first;
    struct stack stack = {.writer = &self->writer, .track = TRACK(TRACK_THREAD, thread)};
    for (uint32_t i = 0; i < model->threads[thread].call_count && !self->writer.output->status; i++) {
        const struct gw_call *call = &model->calls[calls[i]];
        struct gw_perfetto_slice slice = {.track = stack.track,
                                          .name = "unknown function",
                                          .category = GW_PERFETTO_CALL,
                                          .flow = enqueues(self, calls[i]) ? (uint64_t)calls[i] + 1 : 0};
        if (call->function < GW_FUNCTION_COUNT)
            slice.name_iid = FUNCTION_IID(call->function);
        if (call->result)
            slice.values[slice.value_count++] =
                (struct gw_perfetto_value){.argument = GW_PERFETTO_RESULT, .number = (uint32_t)call->result};
        push(&stack, &slice, call->begin_ns, call->end_ns);
    }
    close_until(&stack, UINT64_MAX);
}

static void write_op(struct perfetto *self, uint32_t index, uint64_t track)
{
    const struct gw_model *model = self->model;
    const struct gw_op *op = &model->ops[index];
    const struct gw_launch *launch = gw_launch_of_op(model, op);
    char grid[40], block[40];
    bool named = op->name != GW_NONE && (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM);
    bool last = index + 1 == model->ops_count || model->ops[index + 1].call != op->call;
    struct gw_perfetto_slice slice = {.track = track,
                                      .name_iid = named ? NAME_IID(op->name) : KIND_IID(op->kind),
                                      .category = GW_PERFETTO_OP,
                                      .flow = op->call == GW_NONE ? 0 : (uint64_t)op->call + 1,
                                      .flow_ends = last};
    if (named)
        slice.values[slice.value_count++] =
            (struct gw_perfetto_value){.argument = GW_PERFETTO_KERNEL, .text_iid = (uint64_t)op->name + 1};
    if (op->size_bytes)
        slice.values[slice.value_count++] =
            (struct gw_perfetto_value){.argument = GW_PERFETTO_BYTES, .number = op->size_bytes};
    if (op->error_ns)
        slice.values[slice.value_count++] =
            (struct gw_perfetto_value){.argument = GW_PERFETTO_ERROR_NS, .number = op->error_ns};
    if (launch && named) {
        snprintf(grid, sizeof(grid), "%u × %u × %u", launch->grid[0], launch->grid[1], launch->grid[2]);
        snprintf(block, sizeof(block), "%u × %u × %u", launch->block[0], launch->block[1], launch->block[2]);
        slice.values[slice.value_count++] = (struct gw_perfetto_value){.argument = GW_PERFETTO_GRID, .text = grid};
        slice.values[slice.value_count++] = (struct gw_perfetto_value){.argument = GW_PERFETTO_BLOCK, .text = block};
    }
    gw_perfetto_begin(&self->writer, &slice, op->start_ns);
    gw_perfetto_end(&self->writer, track, op->end_ns);
}

/* Measured times of two operations of a stream may overlap by their error: each goes to the first lane that is free.
 * Lanes have one name, and the viewer draws them as one. */
static int write_stream(struct perfetto *self, uint32_t stream)
{
    const struct gw_model *model = self->model;
    const uint32_t *ops = model->stream_ops + model->streams[stream].op_first;
    uint64_t *free_ns = NULL;
    size_t lanes = 0;
    char name[64];
    int status = 0;
    gw_stream_words(model, &model->streams[stream], name, sizeof(name));
    for (uint32_t i = 0; i < model->streams[stream].op_count && !self->writer.output->status; i++) {
        const struct gw_op *op = &model->ops[ops[i]];
        size_t lane = 0;
        if (!gw_op_is_shown(op))
            continue;
        while (lane < lanes && free_ns[lane] > op->start_ns)
            lane++;
        if (lane == lanes) {
            uint64_t *grown = lanes < LANES_MAX ? realloc(free_ns, (lanes + 1) * sizeof(*grown)) : NULL;
            if (!grown) {
                status = lanes < LANES_MAX ? -ENOMEM : -EOVERFLOW;
                goto end;
            }
            free_ns = grown;
            lanes++;
            gw_perfetto_track(&self->writer, TRACK(TRACK_STREAM, stream) + lane,
                              TRACK(TRACK_DEVICE, model->streams[stream].device), name);
        }
        free_ns[lane] = op->end_ns;
        write_op(self, ops[i], TRACK(TRACK_STREAM, stream) + lane);
    }
    status = self->writer.output->status;
end:
    free(free_ns);
    return status;
}

/* A collective's slice, and in it the wait for the last rank and the transfer where they are known. */
static void write_collective(struct perfetto *self, struct stack *stack, const struct gw_op *op,
                             const struct gw_collective *collective, uint32_t count)
{
    const struct gw_communicator *communicator = &self->model->communicators[collective->communicator];
    uint64_t begin_ns = op->start_ns, arrival_ns = op->start_ns + collective->arrival_wait_ns;
    char id[24];
    snprintf(id, sizeof(id), "%016" PRIx64, communicator->id);
    struct gw_perfetto_slice slice = {.track = stack->track,
                                      .name = gw_comm_kind_name((enum gw_comm_kind)collective->kind),
                                      .category = GW_PERFETTO_COLLECTIVE,
                                      .values = {{.argument = GW_PERFETTO_BYTES, .number = collective->size_bytes},
                                                 {.argument = GW_PERFETTO_COMMUNICATOR, .text = id},
                                                 {.argument = GW_PERFETTO_SEQUENCE, .number = collective->sequence},
                                                 {.argument = GW_PERFETTO_RANKS, .number = communicator->size},
                                                 {.argument = GW_PERFETTO_GROUPED, .number = count}},
                                      .value_count = 5};
    close_until(stack, begin_ns);
    if (stack->depth) /* measured times of two may overlap by their error */
        begin_ns = stack->ends_ns[0];
    push(stack, &slice, begin_ns, op->end_ns > begin_ns ? op->end_ns : begin_ns);
    if (collective->arrival_wait_ns == GW_TIME_UNKNOWN || arrival_ns < begin_ns || arrival_ns > op->end_ns)
        return;
    slice.value_count = 0;
    slice.name = "waiting for other ranks";
    if (arrival_ns > begin_ns)
        push(stack, &slice, begin_ns, arrival_ns);
    slice.name = "transfer";
    push(stack, &slice, arrival_ns, op->end_ns);
}

static void write_exchanges(struct perfetto *self, uint32_t stream)
{
    const struct gw_model *model = self->model;
    const uint32_t *ops = model->stream_ops + model->streams[stream].op_first;
    struct stack stack = {.writer = &self->writer};
    for (uint32_t i = 0; i < model->streams[stream].op_count && !self->writer.output->status; i++) {
        uint32_t count = 0;
        const struct gw_collective *collective = gw_exchanges_of_op(&self->exchanges, model, ops[i], &count);
        if (!collective || !gw_op_is_shown(&model->ops[ops[i]]))
            continue;
        if (!stack.track) {
            stack.track = TRACK(TRACK_EXCHANGES, stream);
            gw_perfetto_track(&self->writer, stack.track, TRACK(TRACK_DEVICE, model->streams[stream].device),
                              "communication");
        }
        write_collective(self, &stack, &model->ops[ops[i]], collective, count);
    }
    close_until(&stack, UINT64_MAX);
}

static int write_ranges(struct perfetto *self)
{
    const struct gw_model *model = self->model;
    struct stack stack = {.writer = &self->writer};
    bool *interned = calloc(self->names->count + 1, sizeof(*interned));
    if (!interned)
        return -ENOMEM;
    for (size_t i = 0; i < model->ranges_count && !self->writer.output->status; i++) {
        const struct gw_range *range = &model->ranges[i];
        struct gw_perfetto_slice slice = {.track = TRACK(TRACK_RANGES, range->thread),
                                          .name_iid = RANGE_IID(self->names, range->name),
                                          .category = GW_PERFETTO_RANGE};
        if (!interned[range->name])
            gw_perfetto_intern(&self->writer, slice.name_iid, self->names->full[range->name]);
        interned[range->name] = true;
        if (stack.track != slice.track) {
            close_until(&stack, UINT64_MAX);
            stack.track = slice.track;
            gw_perfetto_track(&self->writer, slice.track, TRACK(TRACK_THREAD, range->thread), "ranges");
        }
        const struct gw_payload payload = gw_payload_of(range);
        if (range->category_name)
            slice.values[slice.value_count++] =
                (struct gw_perfetto_value){.argument = GW_PERFETTO_RANGE_CATEGORY, .text_iid = range->category_name};
        if (payload.kind != GW_PAYLOAD_NONE)
            slice.values[slice.value_count++] =
                (struct gw_perfetto_value){.argument = GW_PERFETTO_PAYLOAD, .payload = &payload};
        push(&stack, &slice, range->begin_ns, range->end_ns);
    }
    close_until(&stack, UINT64_MAX);
    free(interned);
    return self->writer.output->status;
}

static void write_steps(struct perfetto *self)
{
    const struct gw_model *model = self->model;
    char name[48];
    for (size_t i = 0; i < model->steps_count && !self->writer.output->status; i++) {
        const struct gw_step *step = &model->steps[i];
        struct gw_perfetto_slice slice = {
            .track = TRACK(TRACK_STEPS, step->process), .name = name, .category = GW_PERFETTO_STEP};
        snprintf(name, sizeof(name), "step %" PRIu32 "%s", step->number, step->warmup ? " (warm-up)" : "");
        gw_perfetto_begin(&self->writer, &slice, step->begin_ns);
        gw_perfetto_end(&self->writer, slice.track, step->end_ns);
    }
}

static void write_gaps(struct perfetto *self, const struct gw_budget *budget)
{
    for (size_t i = 0; i < budget->gaps_count && !self->writer.output->status; i++) {
        const struct gw_gap *gap = &budget->gaps[i];
        struct gw_perfetto_slice slice = {
            .track = TRACK(TRACK_IDLE, gap->device), .name_iid = CLASS_IID(gap->cls), .category = GW_PERFETTO_IDLE};
        if (gap->call != GW_NONE)
            slice.values[slice.value_count++] = (struct gw_perfetto_value){
                .argument = GW_PERFETTO_WAITED_IN, .text = gw_function_name(self->model->calls[gap->call].function)};
        gw_perfetto_begin(&self->writer, &slice, gap->begin_ns);
        gw_perfetto_end(&self->writer, slice.track, gap->end_ns);
    }
}

/* Compilers in processes of their own, each below the process that executed it. */
static void write_compilers(struct perfetto *self)
{
    for (size_t i = 0; i < self->model->compilers_count && !self->writer.output->status; i++) {
        const struct gw_compiler *compiler = &self->model->compilers[i];
        struct gw_perfetto_slice slice = {
            .track = TRACK(TRACK_COMPILER, i), .name = compiler->name, .category = GW_PERFETTO_COMPILER};
        char text[64];
        snprintf(text, sizeof(text), "%s, process %" PRIu32, compiler->name, compiler->pid);
        gw_perfetto_track(&self->writer, slice.track,
                          compiler->process == GW_NONE ? 0 : TRACK(TRACK_PROCESS, compiler->process), text);
        if (compiler->input_bytes)
            slice.values[slice.value_count++] =
                (struct gw_perfetto_value){.argument = GW_PERFETTO_BYTES, .number = compiler->input_bytes};
        gw_perfetto_begin(&self->writer, &slice, compiler->begin_ns);
        gw_perfetto_end(&self->writer, slice.track, compiler->end_ns);
    }
}

static int write_all(struct perfetto *self, const struct gw_budget *budget)
{
    const struct gw_model *model = self->model;
    self->enqueues = calloc(model->calls_count / 8 + 1, 1);
    if (!self->enqueues)
        return -ENOMEM;
    for (size_t i = 0; i < model->ops_count; i++) {
        uint32_t call = model->ops[i].call;
        if (call != GW_NONE && gw_op_is_shown(&model->ops[i]))
            self->enqueues[call / 8] |= (uint8_t)(1u << (call % 8));
    }
    intern_all(self);
    int status = write_tracks(self);
    for (uint32_t i = 0; !status && i < model->threads_count; i++) {
        write_calls(self, i);
        status = self->writer.output->status;
    }
    for (uint32_t i = 0; !status && i < model->streams_count; i++)
        status = write_stream(self, i);
    for (uint32_t i = 0; !status && i < model->streams_count; i++)
        write_exchanges(self, i);
    status = status ? status : write_ranges(self);
    if (!status) {
        write_steps(self);
        write_gaps(self, budget);
        write_compilers(self);
    }
    return status;
}

int gw_export_perfetto(const struct gw_model *model, const struct gw_budget *budget, const char *path)
{
    struct gw_names names;
    struct gw_output output;
    struct perfetto self = {.model = model, .names = &names};
    int status = gw_names_init(&names, model);
    int exchanges_status = gw_exchanges_init(&self.exchanges, model);
    status = status ? status : exchanges_status ? exchanges_status : gw_output_open(&output, path);
    if (!status) {
        gw_perfetto_start(&self.writer, &output, model->run.begin_ns,
                          model->run.begin_ns + (uint64_t)model->run.realtime_offset_ns);
        status = write_all(&self, budget);
        gw_perfetto_release(&self.writer);
        free(self.enqueues);
        status = gw_output_close(&output, status);
    }
    gw_exchanges_release(&self.exchanges);
    gw_names_release(&names);
    return status;
}
