#include "analyzer/model/import/tie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/radix.h"
#include "shim/api/functions.h"

static uint8_t api_of(const struct gw_call *call)
{
    const struct gw_function *row = gw_function_row(call->function);
    return row ? row->api : GW_API_RT;
}

/* Where calls begin in the same instant, a runtime call stands before the driver calls in it, and of two that follow
 * each other the one that took no measurable time. Ends lie below 2^63. */
static uint64_t order_of_equals(const struct gw_call *call)
{
    return (uint64_t)(api_of(call) == GW_API_DRV) << 63 | call->end_ns;
}

static int sort_calls(struct gw_model *model)
{
    struct gw_sort_item *order = malloc((model->calls_count + 1) * sizeof(*order));
    struct gw_call *sorted = malloc((model->calls_count + 1) * sizeof(*sorted));
    uint64_t *sorted_ids = malloc((model->calls_count + 1) * sizeof(*sorted_ids));
    int status = order && sorted && sorted_ids ? 0 : -ENOMEM;
    for (size_t i = 0; !status && i < model->calls_count; i++) {
        order[i] = (struct gw_sort_item){.key = order_of_equals(&model->calls[i]), .value = (uint32_t)i};
    }
    status = status ? status : gw_radix_sort(order, model->calls_count);
    for (size_t i = 0; !status && i < model->calls_count; i++) {
        order[i].key = model->calls[order[i].value].begin_ns;
    }
    status = status ? status : gw_radix_sort(order, model->calls_count); /* stable */
    if (status) {
        goto end;
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        sorted[i] = model->calls[order[i].value];
        sorted_ids[i] = model->call_ids[order[i].value];
    }
    struct gw_call *unsorted = model->calls;
    uint64_t *unsorted_ids = model->call_ids;
    model->calls = sorted;
    model->call_ids = sorted_ids;
    sorted = unsorted;
    sorted_ids = unsorted_ids;
end:
    free(order);
    free(sorted);
    free(sorted_ids);
    return status;
}

/* Depths within one thread: profilers record calls of the program, and driver calls inside runtime calls. */
static void nest(struct gw_model *model, const struct gw_thread *thread)
{
    const uint32_t *calls = model->thread_calls + thread->call_first;
    const struct gw_call *outer = NULL;
    for (uint32_t i = 0; i < thread->call_count; i++) {
        struct gw_call *call = &model->calls[calls[i]];
        if (api_of(call) != GW_API_DRV) {
            outer = call;
        } else if (outer && call->begin_ns >= outer->begin_ns && call->end_ns <= outer->end_ns &&
                   call->begin_ns < outer->end_ns) {
            call->depth = 2;
        }
    }
}

int gw_tie_calls(struct gw_assembly *assembly)
{
    struct gw_model *model = assembly->builder.model;
    int status = sort_calls(model);
    status = status ? status : gw_build_thread_calls(model);
    for (size_t t = 0; !status && t < model->threads_count; t++) {
        nest(model, &model->threads[t]);
    }
    return status;
}

static uint64_t scope_key(const struct gw_assembly *assembly, uint32_t pid)
{
    return assembly->scope == GW_CORRELATION_PROCESS ? pid : 0;
}

/* Correlation → the innermost call that carries it. */
static int index_calls(const struct gw_assembly *assembly, struct gw_map *calls)
{
    const struct gw_model *model = assembly->builder.model;
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        uint64_t scope = scope_key(assembly, model->processes[model->threads[call->thread].process].pid);
        uint32_t *known = gw_map_find(calls, model->call_ids[i], scope);
        int status = 0;
        if (!known) {
            status = gw_map_insert(calls, model->call_ids[i], scope, (uint32_t)i);
        } else if (model->calls[*known].depth < call->depth) {
            *known = (uint32_t)i;
        }
        if (status) {
            return status;
        }
    }
    return 0;
}

/* For each call its depth-1 call, as an index. */
static uint32_t *find_outer_calls(const struct gw_model *model)
{
    uint32_t *outer_calls = malloc((model->calls_count + 1) * sizeof(*outer_calls));
    for (size_t t = 0; outer_calls && t < model->threads_count; t++) {
        const uint32_t *calls = model->thread_calls + model->threads[t].call_first;
        uint32_t outer = GW_NONE;
        for (uint32_t i = 0; i < model->threads[t].call_count; i++) {
            outer = model->calls[calls[i]].depth == 1 ? calls[i] : outer;
            outer_calls[calls[i]] = outer;
        }
    }
    return outer_calls;
}

/* Gives the call the details that its operation knows. A graph launch has many operations and gets none of theirs. */
static int add_detail(struct gw_model *model, const struct gw_import_op *from, const struct gw_op *op)
{
    struct gw_call *call = &model->calls[op->call];
    enum gw_call_class class = gw_call_class(call->function);
    if (call->detail_kind != GW_DETAIL_NONE) {
        return 0;
    }
    if ((op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM) && class == GW_CALL_LAUNCH) {
        if (GW_GROW(model->launches, model->launches_count)) {
            return -ENOMEM;
        }
        call->detail = (uint32_t)model->launches_count;
        call->detail_kind = GW_DETAIL_LAUNCH;
        model->launches[model->launches_count++] =
            (struct gw_launch){.name = from->name,
                               .stream = op->stream,
                               .grid = {from->grid[0], from->grid[1], from->grid[2]},
                               .block = {from->block[0], from->block[1], from->block[2]},
                               .shared_bytes = from->shared_bytes};
    } else if (op->kind == GW_OP_MEMSET && class == GW_CALL_MEMSET) {
        if (GW_GROW(model->memsets, model->memsets_count)) {
            return -ENOMEM;
        }
        call->detail = (uint32_t)model->memsets_count;
        call->detail_kind = GW_DETAIL_MEMSET;
        model->memsets[model->memsets_count++] =
            (struct gw_memset){.size_bytes = from->size_bytes, .stream = op->stream};
    } else if (class == GW_CALL_COPY && op->kind != GW_OP_KERNEL && op->kind != GW_OP_MEMSET) {
        if (GW_GROW(model->copies, model->copies_count)) {
            return -ENOMEM;
        }
        call->detail = (uint32_t)model->copies_count;
        call->detail_kind = GW_DETAIL_COPY;
        model->copies[model->copies_count++] =
            (struct gw_copy){.size_bytes = from->size_bytes,
                             .stream = op->stream,
                             .direction = from->direction,
                             .src_kind = from->src_kind,
                             .dst_kind = from->dst_kind,
                             .blocking = !strstr(gw_function_name(call->function), "Async")};
    }
    return 0;
}

/* The stream of an operation, made when it is new, and with it the device. */
static uint32_t stream_of(struct gw_assembly *assembly, const struct gw_import_op *op, uint32_t call)
{
    struct gw_builder *builder = &assembly->builder;
    const struct gw_model *model = builder->model;
    uint32_t process = 0;
    if (call != GW_NONE) {
        process = model->threads[model->calls[call].thread].process;
    } else if (op->process != GW_NONE) {
        process = op->process;
    } else if (op->pid || !model->processes_count) {
        process = gw_builder_process(builder, 0, op->pid);
    }
    uint32_t device = process == GW_NONE ? GW_NONE : gw_builder_device(builder, process, op->device);
    return device == GW_NONE ? GW_NONE : gw_builder_add_stream(builder, device, op->stream, op->stream, 0);
}

/* An operation without a call was enqueued before the next one on its stream, and before it started itself. */
static int order_keys(const struct gw_assembly *assembly, const struct gw_op *ops, struct gw_sort_item *order)
{
    const struct gw_model *model = assembly->builder.model;
    size_t count = assembly->ops_count;
    uint64_t *next = malloc((model->streams_count + 1) * sizeof(*next));
    if (!next) {
        return -ENOMEM;
    }
    for (size_t s = 0; s < model->streams_count; s++) {
        next[s] = UINT64_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct gw_sort_item){.key = ops[i].start_ns, .value = (uint32_t)i};
    }
    int status = gw_radix_sort(order, count);
    for (size_t i = count; !status && i-- > 0;) {
        const struct gw_op *op = &ops[order[i].value];
        if (op->call != GW_NONE) {
            order[i].key = model->calls[op->call].begin_ns;
        } else if (order[i].key > next[op->stream]) {
            order[i].key = next[op->stream];
        }
        next[op->stream] = order[i].key;
    }
    free(next);
    return status ? status : gw_radix_sort(order, count); /* stable: operations of one graph launch stay in time */
}

/* The communicator of that name on a device, made when it is new; GW_NONE only when there is no memory. */
static uint32_t communicator_of(const struct gw_assembly *assembly, struct gw_map *known, uint32_t device,
                                const struct gw_import_collective *collective)
{
    struct gw_model *model = assembly->builder.model;
    uint32_t process = model->devices[device].process;
    const uint32_t *number = gw_map_find(known, collective->group, device);
    if (number) {
        return *number;
    }
    uint32_t added = (uint32_t)model->communicators_count;
    if (GW_GROW(model->communicators, model->communicators_count) ||
        gw_map_insert(known, collective->group, device, added)) {
        return GW_NONE;
    }
    model->communicators[model->communicators_count++] =
        (struct gw_communicator){.id = collective->group,
                                 .process = process,
                                 .rank = (uint32_t)(collective->rank >= 0 ? collective->rank : 0),
                                 .size = collective->size,
                                 .device = device};
    return added;
}

/* Gives the model the collectives of operations whose call is in the trace. order: of the operations. */
static int tie_collectives(const struct gw_assembly *assembly, const struct gw_sort_item *order)
{
    struct gw_model *model = assembly->builder.model;
    struct gw_map known = {0};
    int status = 0;
    for (size_t i = 0; i < model->ops_count && !status; i++) {
        const struct gw_op *op = &model->ops[i];
        uint32_t number = assembly->ops[order[i].value].collective;
        if (number == GW_NONE || op->kind != GW_OP_COMM || op->call == GW_NONE) {
            continue;
        }
        const struct gw_import_collective *from = &assembly->collectives[number];
        uint32_t communicator = communicator_of(assembly, &known, model->streams[op->stream].device, from);
        if (communicator == GW_NONE || GW_GROW(model->collectives, model->collectives_count)) {
            status = -ENOMEM;
            break;
        }
        model->collectives[model->collectives_count++] = (struct gw_collective){.size_bytes = from->size_bytes,
                                                                                .arrival_wait_ns = GW_TIME_UNKNOWN,
                                                                                .transfer_ns = GW_TIME_UNKNOWN,
                                                                                .communicator = communicator,
                                                                                .call = op->outer_call,
                                                                                .op = (uint32_t)i,
                                                                                .stream = op->stream,
                                                                                .match = GW_NONE,
                                                                                .rank = from->peer,
                                                                                .kind = from->kind,
                                                                                .type = from->type};
    }
    gw_map_clear(&known);
    return status ? status : gw_match_collectives(model);
}

int gw_tie_ops(struct gw_assembly *assembly, size_t *ret_untied)
{
    struct gw_model *model = assembly->builder.model;
    size_t count = assembly->ops_count, untied = 0;
    struct gw_map calls = {0};
    uint32_t *outer_calls = find_outer_calls(model);
    struct gw_op *ops = malloc((count + 1) * sizeof(*ops));
    struct gw_sort_item *order = malloc((count + 1) * sizeof(*order));
    model->ops = malloc((count + 1) * sizeof(*model->ops));
    int status = outer_calls && ops && order && model->ops ? index_calls(assembly, &calls) : -ENOMEM;
    for (size_t i = 0; !status && i < count; i++) {
        const struct gw_import_op *from = &assembly->ops[i];
        const uint32_t *call = gw_map_find(&calls, from->correlation, scope_key(assembly, from->pid));
        ops[i] = (struct gw_op){.start_ns = from->start_ns,
                                .end_ns = from->end_ns,
                                .size_bytes = from->size_bytes,
                                .call = call ? *call : GW_NONE,
                                .outer_call = call ? outer_calls[*call] : GW_NONE,
                                .name = from->name,
                                .graph_node = from->graph_node,
                                .kind = from->kind,
                                .flags = call ? 0 : GW_OP_NO_CALL};
        untied += !call;
        ops[i].stream = stream_of(assembly, from, ops[i].call);
        status = ops[i].stream == GW_NONE ? -ENOMEM : call ? add_detail(model, from, &ops[i]) : 0;
    }
    status = status ? status : order_keys(assembly, ops, order);
    if (!status) {
        for (size_t i = 0; i < count; i++) {
            model->ops[i] = ops[order[i].value];
        }
        model->ops_count = count;
        status = gw_build_op_lists(&assembly->builder);
        status = status ? status : tie_collectives(assembly, order);
    }
    if (!status) {
        *ret_untied = untied;
    }
    gw_map_clear(&calls);
    free(outer_calls);
    free(ops);
    free(order);
    return status;
}

static void extend(struct gw_process *process, uint64_t begin_ns, uint64_t end_ns)
{
    process->first_ns = begin_ns < process->first_ns ? begin_ns : process->first_ns;
    process->last_ns = end_ns > process->last_ns ? end_ns : process->last_ns;
}

int gw_tie_extent(struct gw_assembly *assembly)
{
    struct gw_model *model = assembly->builder.model;
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        extend(&model->processes[model->threads[call->thread].process], call->begin_ns, call->end_ns);
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        extend(&model->processes[model->devices[model->streams[op->stream].device].process], op->start_ns, op->end_ns);
    }
    model->run.begin_ns = UINT64_MAX;
    for (size_t p = 0; p < model->processes_count; p++) {
        struct gw_process *process = &model->processes[p];
        if (process->first_ns > process->last_ns) { /* it has ranges only */
            process->first_ns = process->last_ns = 0;
            continue;
        }
        model->run.begin_ns = process->first_ns < model->run.begin_ns ? process->first_ns : model->run.begin_ns;
        model->run.end_ns = process->last_ns > model->run.end_ns ? process->last_ns : model->run.end_ns;
    }
    gw_builder_sort_ranges(model);
    return 0;
}
