#include "tests/unit/model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/functions.h"

struct gw_fixture {
    struct gw_model *model;
};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "model_fixture: out of memory\n");
        abort();
    }
    return memory;
}

/* One more element at the end of an array of the model, whose room doubles each time it is full: only PUSH may have
 * filled it. */
#define PUSH(array, element)                                                                                           \
    ((array) = (array##_count & (array##_count - 1)) == 0                                                              \
                   ? must(reallocarray((array), 2 * array##_count + 1, sizeof *(array)))                               \
                   : (array),                                                                                          \
     (array)[array##_count] = (element), (uint32_t)array##_count++)

struct gw_fixture *gw_fixture_create(void)
{
    struct gw_fixture *fixture = must(calloc(1, sizeof *fixture));
    struct gw_model *model = fixture->model = must(calloc(1, sizeof *model));
    struct gw_process process = {.pid = 100, .ppid = 1, .rank = -1};
    process.exe = must(strdup("/usr/bin/fixture"));
    process.command = must(strdup("fixture"));
    process.host = must(strdup("testhost"));
    PUSH(model->processes, process);
    model->run.path = must(strdup("fixture-run"));
    model->run.device_kind = must(strdup("simulated"));
    model->run.gpu_timing = must(strdup("events"));
    model->run.host = must(strdup("testhost"));
    model->run.command = must(calloc(2, sizeof *model->run.command));
    model->run.command[0] = must(strdup("fixture"));
    model->run.finished = true;
    model->timing = GW_TIMING_EVENTS;
    model->steps_method = "sequence";
    model->steps_confidence = 1.0;
    return fixture;
}

struct gw_model *gw_fixture_model(struct gw_fixture *fixture)
{
    return fixture->model;
}

uint32_t gw_fixture_thread(struct gw_fixture *fixture, uint32_t tid)
{
    struct gw_thread thread = {.process = 0, .tid = tid, .name = must(strdup("main"))};
    return PUSH(fixture->model->threads, thread);
}

uint32_t gw_fixture_device(struct gw_fixture *fixture, uint32_t number)
{
    struct gw_device device = {.process = 0, .number = number, .memory_bytes = 1ull << 34, .multiprocessors = 132};
    device.name = must(strdup("Simulated GPU"));
    return PUSH(fixture->model->devices, device);
}

uint32_t gw_fixture_stream(struct gw_fixture *fixture, uint32_t device, uint32_t number, uint32_t flags)
{
    struct gw_stream stream = {.device = device, .number = number, .flags = flags, .handle = number};
    return PUSH(fixture->model->streams, stream);
}

uint32_t gw_fixture_call(struct gw_fixture *fixture, uint32_t thread, const char *function, uint64_t begin_ns,
                         uint64_t end_ns, uint8_t depth)
{
    struct gw_call call = {.begin_ns = begin_ns, .end_ns = end_ns, .thread = thread, .depth = depth};
    unsigned id = gw_function_find(function);
    if (id == GW_FUNCTION_NONE) {
        fprintf(stderr, "model_fixture: no function %s\n", function);
        abort();
    }
    call.function = (uint16_t)id;
    call.detail = GW_NONE;
    return PUSH(fixture->model->calls, call);
}

uint32_t gw_fixture_op(struct gw_fixture *fixture, uint32_t call, uint32_t stream, enum gw_op_kind kind,
                       uint64_t start_ns, uint64_t end_ns)
{
    struct gw_op op = {.start_ns = start_ns, .end_ns = end_ns, .stream = stream, .call = call, .outer_call = call};
    op.kind = (uint8_t)kind;
    op.name = op.graph_node = GW_NONE;
    if (start_ns == GW_TIME_UNKNOWN)
        op.flags |= GW_OP_UNTIMED;
    if (call == GW_NONE)
        op.flags |= GW_OP_NO_CALL;
    return PUSH(fixture->model->ops, op);
}

void gw_fixture_op_name(struct gw_fixture *fixture, uint32_t op, const char *mangled)
{
    struct gw_model *model = fixture->model;
    uint32_t name = 0;
    while (name < model->names_count && strcmp(model->names[name], mangled) != 0)
        name++;
    if (name == model->names_count) {
        char *copy = must(strdup(mangled));
        PUSH(model->names, copy);
    }
    model->ops[op].name = name;
}

static void set_detail(struct gw_fixture *fixture, uint32_t call, enum gw_detail_kind kind, uint32_t index)
{
    fixture->model->calls[call].detail_kind = (uint8_t)kind & 0xf;
    fixture->model->calls[call].detail = index;
}

void gw_fixture_copy_detail(struct gw_fixture *fixture, uint32_t call, struct gw_copy copy)
{
    set_detail(fixture, call, GW_DETAIL_COPY, PUSH(fixture->model->copies, copy));
}

void gw_fixture_order_detail(struct gw_fixture *fixture, uint32_t call, struct gw_order order)
{
    set_detail(fixture, call, GW_DETAIL_ORDER, PUSH(fixture->model->orders, order));
}

void gw_fixture_memory_detail(struct gw_fixture *fixture, uint32_t call, struct gw_memory memory)
{
    set_detail(fixture, call, GW_DETAIL_MEMORY, PUSH(fixture->model->memories, memory));
}

void gw_fixture_gap(struct gw_fixture *fixture, uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint64_t cpu_ns)
{
    struct gw_thread_gap gap = {.begin_ns = begin_ns, .end_ns = end_ns, .cpu_ns = cpu_ns, .thread = thread};
    PUSH(fixture->model->thread_gaps, gap);
}

void gw_fixture_loss(struct gw_fixture *fixture, uint64_t begin_ns, uint64_t end_ns, uint64_t count)
{
    struct gw_loss loss = {begin_ns, end_ns, count, GW_LOSS_DISCARDED};
    PUSH(fixture->model->losses, loss);
}

void gw_fixture_step(struct gw_fixture *fixture, uint64_t begin_ns, uint64_t end_ns, bool warmup)
{
    struct gw_step step = {.begin_ns = begin_ns, .end_ns = end_ns, .warmup = warmup};
    step.number = (uint32_t)fixture->model->steps_count;
    PUSH(fixture->model->steps, step);
}

/* ---- finishing ---- */

static int compare_calls(const void *left, const void *right, void *data)
{
    const struct gw_call *calls = data;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct gw_call *a = &calls[i], *b = &calls[j];
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void sort_calls(struct gw_model *model)
{
    size_t count = model->calls_count;
    uint32_t *order = must(calloc(count + 1, sizeof *order)), *place = must(calloc(count + 1, sizeof *place));
    struct gw_call *sorted = must(calloc(count + 1, sizeof *sorted));
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    if (count)
        qsort_r(order, count, sizeof *order, compare_calls, model->calls);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = model->calls[order[i]];
        place[order[i]] = i;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].call == GW_NONE)
            continue;
        model->ops[i].call = place[model->ops[i].call];
        model->ops[i].outer_call = place[model->ops[i].outer_call];
    }
    free(model->calls);
    model->calls = sorted;
    free(order);
    free(place);
}

static uint64_t enqueue_of(const struct gw_model *model, const struct gw_op *op)
{
    return op->call == GW_NONE ? op->start_ns : model->calls[op->call].begin_ns;
}

static int compare_ops(const void *left, const void *right, void *data)
{
    const struct gw_model *model = data;
    uint64_t a = enqueue_of(model, left), b = enqueue_of(model, right);
    return a < b ? -1 : a > b;
}

static int compare_gaps(const void *left, const void *right)
{
    const struct gw_thread_gap *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static void index_by_group(struct gw_model *model)
{
    for (uint32_t t = 0; t < model->threads_count; t++) {
        model->threads[t].call_first = (uint32_t)model->thread_calls_count;
        for (uint32_t c = 0; c < model->calls_count; c++) {
            if (model->calls[c].thread == t)
                PUSH(model->thread_calls, c);
        }
        model->threads[t].call_count = (uint32_t)model->thread_calls_count - model->threads[t].call_first;
    }
    for (uint32_t s = 0; s < model->streams_count; s++) {
        model->streams[s].op_first = (uint32_t)model->stream_ops_count;
        for (uint32_t o = 0; o < model->ops_count; o++) {
            if (model->ops[o].stream == s)
                PUSH(model->stream_ops, o);
        }
        model->streams[s].op_count = (uint32_t)model->stream_ops_count - model->streams[s].op_first;
    }
    for (uint32_t o = 0; o < model->ops_count; o++)
        PUSH(model->process_ops, o);
    for (size_t s = 0; s < model->steps_count; s++) {
        struct gw_step *step = &model->steps[s];
        for (uint32_t o = 0; o < model->ops_count; o++) {
            uint64_t enqueue = enqueue_of(model, &model->ops[o]);
            if (enqueue < step->begin_ns || enqueue >= step->end_ns)
                continue;
            if (!step->op_count++)
                step->first_op = o;
        }
    }
}

static void find_extent(struct gw_model *model)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (size_t i = 0; i < model->calls_count; i++) {
        begin = model->calls[i].begin_ns < begin ? model->calls[i].begin_ns : begin;
        end = model->calls[i].end_ns > end ? model->calls[i].end_ns : end;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].flags & GW_OP_UNTIMED)
            continue;
        begin = model->ops[i].start_ns < begin ? model->ops[i].start_ns : begin;
        end = model->ops[i].end_ns > end ? model->ops[i].end_ns : end;
    }
    for (size_t i = 0; i < model->steps_count; i++) {
        begin = model->steps[i].begin_ns < begin ? model->steps[i].begin_ns : begin;
        end = model->steps[i].end_ns > end ? model->steps[i].end_ns : end;
    }
    model->run.begin_ns = model->processes[0].first_ns = begin == UINT64_MAX ? 0 : begin;
    model->run.end_ns = model->processes[0].last_ns = end;
}

struct gw_model *gw_fixture_finish(struct gw_fixture *fixture)
{
    struct gw_model *model = fixture->model;
    sort_calls(model);
    if (model->ops_count)
        qsort_r(model->ops, model->ops_count, sizeof *model->ops, compare_ops, model);
    if (model->thread_gaps_count)
        qsort(model->thread_gaps, model->thread_gaps_count, sizeof *model->thread_gaps, compare_gaps);
    index_by_group(model);
    find_extent(model);
    free(fixture);
    return model;
}
