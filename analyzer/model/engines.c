/*
 * What times from CUDA events miss: an operation that waits for an engine. The event before it happens when its stream
 * has come so far, and nothing on the stream shows that the operation itself began later. Three assumptions bound it;
 * each correction is part of the operation's stated error.
 *  - Of one direction a device copies one at a time: a copy that overlaps an earlier one of the same direction began at
 * that one's end.
 *  - One executable graph runs one replay at a time, whatever streams they are launched on.
 *  - A kernel that another stream's kernel was running before, and that outlasts it, may have begun only when that one
 * made room.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/map.h"
#include "analyzer/model/radix.h"

static void widen(struct gw_op *op, uint64_t by_ns)
{
    uint64_t error_ns = op->error_ns + by_ns;
    op->error_ns = error_ns < UINT32_MAX ? (uint32_t)error_ns : UINT32_MAX;
}

/* The operations in order of their end, then of their start; as many items of scratch. Returns 0 or -ENOMEM. */
static int sort_by_end(struct gw_op **ops, struct gw_op *all, struct gw_sort_item *items, const uint32_t *indices,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct gw_sort_item){.key = all[indices[i]].end_ns, .value = indices[i]};
    }
    int status = gw_radix_sort(items, count);
    for (size_t i = 0; i < count && !status; i++) {
        struct gw_op *op = &all[items[i].value];
        size_t at = i;
        for (; at > 0 && ops[at - 1]->end_ns == op->end_ns && ops[at - 1]->start_ns > op->start_ns; at--) {
            ops[at] = ops[at - 1];
        }
        ops[at] = op;
    }
    return status;
}

static void order_copies(struct gw_op **ops, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t before_ns = ops[i - 1]->end_ns;
        if (ops[i]->start_ns < before_ns) {
            widen(ops[i], before_ns - ops[i]->start_ns);
            ops[i]->start_ns = before_ns;
        }
    }
}

/* Blocks of a kernel, UINT64_MAX where its launch is not known. */
static uint64_t blocks_of(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = op->call == GW_NONE ? NULL : &model->calls[op->call];
    if (!call || call->detail_kind != GW_DETAIL_LAUNCH) {
        return UINT64_MAX;
    }
    const uint32_t *grid = model->launches[call->detail].grid;
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* Ends come in order, so the operations that were running when this one seems to begin stand right before it or after
 * it; how far is bounded by the number that can be running at once. Where all their blocks could have a multiprocessor
 * each, none waited. */
static void doubt_kernels(const struct gw_model *model, struct gw_op **ops, size_t count, uint32_t multiprocessors)
{
    enum { REACH = 256 };
    for (size_t i = 0; i < count; i++) {
        const uint64_t start_ns = ops[i]->start_ns;
        uint64_t latest_ns = start_ns, blocks = blocks_of(model, ops[i]);
        for (size_t k = i; k-- > 0 && i - k <= REACH && ops[k]->end_ns > start_ns;) {
            if (ops[k]->stream != ops[i]->stream && ops[k]->start_ns <= start_ns) {
                uint64_t more = blocks_of(model, ops[k]);
                latest_ns = ops[k]->end_ns > latest_ns ? ops[k]->end_ns : latest_ns;
                blocks = more > UINT64_MAX - blocks ? UINT64_MAX : blocks + more;
            }
        }
        for (size_t k = i + 1; latest_ns > start_ns && k < count && k - i <= REACH; k++) {
            if (ops[k]->start_ns <= start_ns) {
                uint64_t more = blocks_of(model, ops[k]);
                blocks = more > UINT64_MAX - blocks ? UINT64_MAX : blocks + more;
            }
        }
        if (blocks > multiprocessors) {
            widen(ops[i], latest_ns - start_ns);
        }
    }
}

/* Of each kind, place + 1 among those that are looked at; kernels last. */
enum { KINDS = 5 };
static const uint8_t places[GW_OP_KIND_COUNT] = {
    [GW_OP_H2D] = 1, [GW_OP_D2H] = 2, [GW_OP_D2D] = 3, [GW_OP_P2P] = 4, [GW_OP_KERNEL] = KINDS};

/* Groups the timed operations by device and kind, see gw_group. */
static int group_ops(const struct gw_model *model, uint32_t **ret_indices, uint32_t **ret_first)
{
    uint32_t *group_of = malloc((model->ops_count + 1) * sizeof(*group_of));
    if (!group_of) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        bool looked_at = !(op->flags & GW_OP_UNTIMED) && places[op->kind];
        group_of[i] = looked_at ? model->streams[op->stream].device * KINDS + places[op->kind] - 1 : GW_NONE;
    }
    int status = gw_group(group_of, model->ops_count, model->devices_count * KINDS, ret_indices, ret_first);
    free(group_of);
    return status;
}

/* The executable graph that an operation replays, 0 where that is not known. */
static uint64_t graph_of(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = op->call == GW_NONE ? NULL : &model->calls[op->call];
    bool known =
        op->kind == GW_OP_GRAPH && !(op->flags & GW_OP_UNTIMED) && call && call->detail_kind == GW_DETAIL_GRAPH;
    return known ? model->graphs[call->detail].exec : 0;
}

static int order_replays(struct gw_model *model, struct gw_sort_item *items)
{
    struct gw_map last = {0}; /* of each graph: the replay before, as a place in items */
    size_t count = 0;
    for (uint32_t i = 0; i < model->ops_count; i++) {
        if (graph_of(model, &model->ops[i])) {
            items[count++] = (struct gw_sort_item){.key = model->ops[i].end_ns, .value = i};
        }
    }
    int status = gw_radix_sort(items, count);
    for (uint32_t i = 0; i < count && !status; i++) {
        struct gw_op *op = &model->ops[items[i].value];
        uint32_t process = model->devices[model->streams[op->stream].device].process;
        uint32_t *before = gw_map_find(&last, graph_of(model, op), process);
        if (!before) {
            status = gw_map_insert(&last, graph_of(model, op), process, i);
            continue;
        }
        if (op->start_ns < items[*before].key) {
            widen(op, items[*before].key - op->start_ns);
            op->start_ns = items[*before].key;
        }
        *before = i;
    }
    gw_map_clear(&last);
    return status;
}

int gw_build_engines(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint32_t *indices = NULL, *first = NULL;
    if (model->timing != GW_TIMING_EVENTS) {
        return 0;
    }
    struct gw_op **ops = malloc((model->ops_count + 1) * sizeof(*ops));
    struct gw_sort_item *items = malloc((model->ops_count + 1) * sizeof(*items));
    int status = ops && items ? group_ops(model, &indices, &first) : -ENOMEM;
    for (uint32_t group = 0; !status && group < model->devices_count * KINDS; group++) {
        size_t count = first[group + 1] - first[group];
        status = sort_by_end(ops, model->ops, items, indices + first[group], count);
        if (!status && group % KINDS == KINDS - 1) {
            doubt_kernels(model, ops, count, model->devices[group / KINDS].multiprocessors);
        } else if (!status) {
            order_copies(ops, count);
        }
    }
    status = status ? status : order_replays(model, items);
    free(ops);
    free(items);
    free(indices);
    free(first);
    return status;
}
