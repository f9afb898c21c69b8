/* The operations of graph replays whose nodes were timed. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"

int gw_build_nodes(struct gw_builder *builder)
{
    size_t capacity = 0;
    for (size_t i = 0; i < builder->input_count; i++) {
        for (size_t s = 0; s < builder->inputs[i].records->stream_count; s++) {
            capacity += builder->inputs[i].records->streams[s].counts[GW_RECORD_gpu_node];
        }
    }
    if (!capacity) {
        return 0;
    }
    builder->node_links = malloc(capacity * sizeof(*builder->node_links));
    if (!builder->node_links) {
        return -ENOMEM;
    }
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->others_count; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->others[i], &record);
            if (record.type != GW_RECORD_gpu_node) {
                continue;
            }
            uint32_t process = gw_builder_process(builder, source->input, GW_WHERE_PID(record.site));
            if (process == GW_NONE) {
                return -ENOMEM;
            }
            uint64_t key = (uint64_t)process << 8 | GW_WHERE_OP_INDEX(record.site);
            uint32_t *last = gw_map_find(&builder->nodes, record.call, key);
            uint32_t added = (uint32_t)builder->node_links_count++;
            builder->node_links[added] =
                (struct gw_node_link){.reference = source->others[i], .before = last ? *last : GW_NONE};
            if (last) {
                *last = added;
            } else if (gw_map_insert(&builder->nodes, record.call, key, added)) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static void set_work(struct gw_builder *builder, uint64_t key, const struct gw_record *record, uint64_t what,
                     struct gw_op *op)
{
    switch ((enum gw_gpu_op_kind)GW_WHERE_KIND(record->site)) {
    case GW_GPU_OP_MEMSET:
        op->kind = GW_OP_MEMSET;
        op->size_bytes = gw_op_size(what);
        return;
    case GW_GPU_OP_COPY:
        op->kind = gw_builder_copy_kind(GW_WHERE_FLAGS(record->site));
        op->size_bytes = gw_op_size(what);
        return;
    case GW_GPU_OP_HOST:
        op->kind = GW_OP_HOST;
        return;
    case GW_GPU_OP_KERNEL:
    case GW_GPU_OP_GRAPH:
        break;
    }
    op->name = gw_builder_name(builder, (uint32_t)(key >> 8), what, record->time_ns);
    op->kind = gw_builder_kernel_kind(builder->model, op->name);
}

static int by_start(const void *left, const void *right)
{
    const struct gw_op *a = left, *b = right;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->graph_node < b->graph_node ? -1 : a->graph_node > b->graph_node;
}

size_t gw_builder_add_nodes(struct gw_builder *builder, const struct gw_op *launch, uint64_t call_id, uint64_t key)
{
    struct gw_model *model = builder->model;
    const uint32_t *last = gw_map_find(&builder->nodes, call_id, key);
    size_t first = model->ops_count;
    for (uint32_t at = last ? *last : GW_NONE; at != GW_NONE; at = builder->node_links[at].before) {
        uint32_t reference = builder->node_links[at].reference;
        struct gw_record record;
        gw_builder_record(builder, reference, &record);
        struct gw_op op = *launch;
        op.start_ns = record.begin_ns;
        op.end_ns = gw_end_after(record.begin_ns, record.words[GW_ARG_gpu_node_end]);
        op.error_ns = (uint32_t)record.words[GW_ARG_gpu_node_error];
        op.graph_node = (uint32_t)record.words[GW_ARG_gpu_node_node];
        op.flags &= (uint8_t)~GW_OP_UNTIMED;
        set_work(builder, key, &record, record.words[GW_ARG_gpu_node_what], &op);
        model->ops[model->ops_count++] = op;
    }
    if (model->ops_count > first) {
        qsort(model->ops + first, model->ops_count - first, sizeof(*model->ops), by_start);
    }
    return model->ops_count - first;
}
