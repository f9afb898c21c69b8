#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/radix.h"

static uint64_t timing_key(uint32_t process, uint8_t op_index)
{
    return (uint64_t)process << 8 | op_index;
}

/* Whether the times are of a process or device that was not announced, where others were: the trace is damaged there.
 */
static bool is_of_nobody(const struct gw_builder *builder, size_t input, const struct gw_record *timing)
{
    const struct gw_model *model = builder->model;
    const uint32_t *process = gw_map_find(&builder->processes, GW_WHERE_PID(timing->site), input);
    bool others = false;
    if (!process) {
        for (size_t p = 0; p < model->processes_count && !others; p++) {
            others = model->processes[p].recording == input && model->processes[p].exe;
        }
    } else if (!gw_map_find(&builder->devices, GW_WHERE_DEVICE(timing->site), *process)) {
        for (size_t d = 0; d < model->devices_count && !others; d++) {
            others = model->devices[d].process == *process && model->devices[d].name;
        }
    }
    return others;
}

/* The operation's times are lost. */
static int lose_timing(struct gw_builder *builder, uint32_t reference, uint64_t time_ns)
{
    struct gw_model *model = builder->model;
    if (GW_GROW(model->losses, model->losses_count)) {
        return -ENOMEM;
    }
    model->losses[model->losses_count++] = (struct gw_loss){.begin_ns = time_ns, .end_ns = time_ns};
    gw_builder_done(builder, reference);
    return 0;
}

int gw_build_timings(struct gw_builder *builder)
{
    size_t count = 0;
    for (size_t s = 0; s < builder->sources_count; s++) {
        count += builder->sources[s].timings_count;
    }
    const int status = gw_map_reserve(&builder->timings, count);
    if (status) {
        return status;
    }
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        uint64_t somebody = UINT64_MAX; /* process and device of the operation before */
        for (size_t i = 0; i < source->timings_count; i++) {
            struct gw_record record;
            gw_builder_record_head(builder, source->timings[i], &record);
            if (record.site >> 24 != somebody && is_of_nobody(builder, source->input, &record)) {
                if (lose_timing(builder, source->timings[i], record.time_ns)) {
                    return -ENOMEM;
                }
                continue;
            }
            somebody = record.site >> 24;
            uint32_t process = gw_builder_process(builder, source->input, GW_WHERE_PID(record.site));
            uint64_t key = timing_key(process, GW_WHERE_OP_INDEX(record.site));
            if (process == GW_NONE || (!gw_map_find(&builder->timings, record.call, key) &&
                                       gw_map_insert(&builder->timings, record.call, key, source->timings[i]))) {
                return -ENOMEM;
            }
        }
    }
    builder->timings_left = builder->timings.count;
    return 0;
}

static const struct gw_record *timing_of(struct gw_builder *builder, uint32_t reference)
{
    if (reference != builder->timed_reference) {
        gw_builder_record(builder, reference, &builder->timed);
        builder->timed_reference = reference;
    }
    return &builder->timed;
}

uint32_t gw_builder_op_device(struct gw_builder *builder, uint32_t process, const struct gw_record *record)
{
    uint64_t key = timing_key(process, GW_SITE_FLAGS(record->site) & GW_SITE_OP_INDEX);
    const uint32_t *timing = gw_map_find(&builder->timings, record->call, key);
    const uint32_t *node = timing ? NULL : gw_map_find(&builder->nodes, record->call, key);
    const uint32_t reference = node ? builder->node_links[*node].reference : timing ? *timing : GW_NONE;
    return reference == GW_NONE ? GW_NONE : GW_WHERE_DEVICE(timing_of(builder, reference)->site);
}

uint8_t gw_builder_kernel_kind(const struct gw_model *model, uint32_t name)
{
    return name == GW_NONE ? GW_OP_KERNEL : model->name_kinds[name];
}

uint8_t gw_builder_copy_kind(uint8_t direction)
{
    switch ((enum gw_copy_direction)direction) {
    case GW_COPY_H2D:
        return GW_OP_H2D;
    case GW_COPY_D2H:
        return GW_OP_D2H;
    case GW_COPY_P2P:
        return GW_OP_P2P;
    case GW_COPY_D2D:
    case GW_COPY_H2H:
        break;
    }
    return GW_OP_D2D;
}

static void set_times(struct gw_op *op, const struct gw_record *timing)
{
    op->start_ns = timing->begin_ns;
    op->end_ns = gw_end_after(timing->begin_ns, timing->words[GW_ARG_gpu_op_end]);
    op->error_ns = (uint32_t)timing->words[GW_ARG_gpu_op_error];
    op->flags &= (uint8_t)~GW_OP_UNTIMED;
    if (GW_WHERE_FLAGS(timing->site) & GW_GPU_OP_START_SHARED) {
        op->flags |= GW_OP_START_SHARED;
    }
}

int gw_builder_add_op(struct gw_builder *builder, uint32_t call_index, uint32_t outer_call,
                      const struct gw_record *record)
{
    struct gw_model *model = builder->model;
    const struct gw_call *call = &model->calls[call_index];
    uint32_t process = model->threads[call->thread].process;
    struct gw_op op = {.start_ns = GW_TIME_UNKNOWN,
                       .end_ns = GW_TIME_UNKNOWN,
                       .stream = GW_NONE,
                       .call = call_index,
                       .outer_call = outer_call,
                       .name = GW_NONE,
                       .graph_node = GW_NONE,
                       .kind = GW_OP_KERNEL,
                       .flags = GW_OP_UNTIMED};
    switch ((enum gw_detail_kind)call->detail_kind) {
    case GW_DETAIL_LAUNCH:
        op.stream = model->launches[call->detail].stream;
        op.name = model->launches[call->detail].name;
        op.kind = gw_builder_kernel_kind(model, op.name);
        break;
    case GW_DETAIL_COPY:
        op.stream = model->copies[call->detail].stream;
        op.size_bytes = gw_op_size(model->copies[call->detail].size_bytes);
        op.kind = gw_builder_copy_kind(model->copies[call->detail].direction);
        break;
    case GW_DETAIL_MEMSET:
        op.stream = model->memsets[call->detail].stream;
        op.size_bytes = gw_op_size(model->memsets[call->detail].size_bytes);
        op.kind = GW_OP_MEMSET;
        break;
    case GW_DETAIL_GRAPH:
        op.stream = model->graphs[call->detail].stream;
        op.kind = GW_OP_GRAPH;
        break;
    case GW_DETAIL_ORDER:
        op.stream = model->orders[call->detail].stream;
        op.kind = GW_OP_HOST;
        break;
    case GW_DETAIL_NONE:
    case GW_DETAIL_MEMORY:
    case GW_DETAIL_MODULE:
    case GW_DETAIL_COLLECTIVE:
        break;
    }
    uint64_t key = timing_key(process, GW_SITE_FLAGS(record->site) & GW_SITE_OP_INDEX);
    uint32_t *timing = gw_map_find(&builder->timings, record->call, key);
    if (timing && *timing != GW_NONE) {
        set_times(&op, timing_of(builder, *timing));
        gw_builder_done(builder, *timing);
        *timing = GW_NONE;
        builder->timings_left--;
    }
    if (op.stream == GW_NONE) {
        op.stream = gw_builder_stream(builder, process, 0, GW_NONE, record->time_ns);
        if (op.stream == GW_NONE) {
            return -ENOMEM;
        }
    }
    if (op.kind != GW_OP_GRAPH || gw_builder_add_nodes(builder, &op, record->call, key) == 0) {
        model->ops[model->ops_count++] = op;
    }
    return 0;
}

static uint8_t kind_without_call(uint8_t kind)
{
    switch ((enum gw_gpu_op_kind)kind) {
    case GW_GPU_OP_MEMSET:
        return GW_OP_MEMSET;
    case GW_GPU_OP_COPY:
        return GW_OP_D2D; /* the direction was in the lost call */
    case GW_GPU_OP_GRAPH:
        return GW_OP_GRAPH;
    case GW_GPU_OP_HOST:
        return GW_OP_HOST;
    case GW_GPU_OP_KERNEL:
        break;
    }
    return GW_OP_KERNEL;
}

static uint64_t enqueue_ns(const struct gw_model *model, const struct gw_op *op)
{
    return op->call == GW_NONE ? op->start_ns : model->calls[op->call].begin_ns;
}

/* Operations that were timed but whose call was lost, put in order among the others. */
static int add_callless(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    for (size_t i = 0; i < builder->timings.count; i++) {
        uint32_t reference = builder->timings.entries[i].value;
        if (reference == GW_NONE) {
            continue;
        }
        struct gw_record timing;
        gw_builder_record(builder, reference, &timing);
        struct gw_op op = {.call = GW_NONE,
                           .outer_call = GW_NONE,
                           .name = GW_NONE,
                           .graph_node = GW_NONE,
                           .kind = kind_without_call(GW_WHERE_KIND(timing.site)),
                           .flags = GW_OP_NO_CALL};
        set_times(&op, &timing);
        op.stream =
            gw_builder_stream(builder, (uint32_t)(builder->timings.entries[i].b >> 8),
                              timing.words[GW_ARG_gpu_op_stream], GW_WHERE_DEVICE(timing.site), timing.begin_ns);
        if (op.stream == GW_NONE) {
            return -ENOMEM;
        }
        model->ops[model->ops_count++] = op;
    }
    struct gw_sort_item *order = malloc((model->ops_count + 1) * sizeof(*order));
    struct gw_op *sorted = malloc((model->ops_count + 1) * sizeof(*sorted));
    int status = order && sorted ? 0 : -ENOMEM;
    for (size_t i = 0; !status && i < model->ops_count; i++) {
        order[i] = (struct gw_sort_item){.key = enqueue_ns(model, &model->ops[i]), .value = (uint32_t)i};
    }
    if (!status) {
        status = gw_radix_sort(order, model->ops_count);
    }
    for (size_t i = 0; !status && i < model->ops_count; i++) {
        sorted[i] = model->ops[order[i].value];
    }
    if (!status) {
        free(model->ops);
        model->ops = sorted;
        sorted = NULL;
    }
    free(order);
    free(sorted);
    return status;
}

int gw_group(const uint32_t *group_of, size_t count, size_t groups, uint32_t **ret_indices, uint32_t **ret_first)
{
    uint32_t *indices = malloc((count + 1) * sizeof(*indices));
    uint32_t *first = calloc(groups + 2, sizeof(*first));
    if (!indices || !first) {
        free(indices);
        free(first);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (group_of[i] != GW_NONE) {
            first[group_of[i] + 2]++;
        }
    }
    for (size_t g = 2; g < groups + 2; g++) {
        first[g] += first[g - 1];
    }
    /* first[g + 1] runs from the start to the end of group g, which is the start of g + 1. */
    for (size_t i = 0; i < count; i++) {
        if (group_of[i] != GW_NONE) {
            indices[first[group_of[i] + 1]++] = (uint32_t)i;
        }
    }
    *ret_indices = indices;
    *ret_first = first;
    return 0;
}

int gw_build_op_lists(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint32_t *first = NULL;
    int status = builder->timings_left ? add_callless(builder) : 0;
    gw_map_clear(&builder->timings); /* all are taken: what follows needs room of its own */
    uint32_t *group_of = malloc((model->ops_count + 1) * sizeof(*group_of));
    if (!group_of || status) {
        status = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        group_of[i] = model->ops[i].stream;
    }
    status = gw_group(group_of, model->ops_count, model->streams_count, &model->stream_ops, &first);
    if (status) {
        goto end;
    }
    model->stream_ops_count = model->ops_count;
    for (size_t s = 0; s < model->streams_count; s++) {
        model->streams[s].op_first = first[s];
        model->streams[s].op_count = first[s + 1] - first[s];
    }
    free(first);
    first = NULL;
    for (size_t i = 0; i < model->ops_count; i++) {
        group_of[i] = model->devices[model->streams[model->ops[i].stream].device].process;
    }
    status = gw_group(group_of, model->ops_count, model->processes_count, &model->process_ops, &first);
    if (status) {
        goto end;
    }
    model->process_ops_count = model->ops_count;
    for (size_t p = 0; p < model->processes_count; p++) {
        model->processes[p].op_first = first[p];
        model->processes[p].op_count = first[p + 1] - first[p];
    }
end:
    free(first);
    free(group_of);
    return status;
}
