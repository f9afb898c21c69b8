/*
 * What times from CUDA events miss: an operation that waits for an engine. The event before it happens when its stream
 * has come so far, and nothing on the stream shows that the operation itself began later. Two assumptions bound it;
 * each correction is part of the operation's stated error.
 *  - Of one direction a device copies one at a time: a copy that overlaps an earlier one of the same direction began at
 * that one's end.
 *  - A kernel that another stream's kernel was running before, and that outlasts it, may have begun only when that one
 * made room.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"

static void widen(struct gw_op *op, uint64_t by_ns)
{
    uint64_t error_ns = op->error_ns + by_ns;
    op->error_ns = error_ns < UINT32_MAX ? (uint32_t)error_ns : UINT32_MAX;
}

static int by_end(const void *left, const void *right)
{
    const struct gw_op *a = *(struct gw_op *const *)left, *b = *(struct gw_op *const *)right;
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
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

static bool is_of(const struct gw_model *model, const struct gw_op *op, uint32_t device, enum gw_op_kind kind)
{
    return !(op->flags & GW_OP_UNTIMED) && op->kind == kind && model->streams[op->stream].device == device;
}

int gw_build_engines(struct gw_builder *builder)
{
    static const enum gw_op_kind kinds[] = {GW_OP_H2D, GW_OP_D2H, GW_OP_D2D, GW_OP_P2P, GW_OP_KERNEL};
    struct gw_model *model = builder->model;
    if (model->timing != GW_TIMING_EVENTS) {
        return 0;
    }
    struct gw_op **ops = malloc((model->ops_count + 1) * sizeof(*ops));
    if (!ops) {
        return -ENOMEM;
    }
    for (uint32_t device = 0; device < model->devices_count; device++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            size_t count = 0;
            for (size_t i = 0; i < model->ops_count; i++) {
                if (is_of(model, &model->ops[i], device, kinds[k])) {
                    ops[count++] = &model->ops[i];
                }
            }
            qsort(ops, count, sizeof(*ops), by_end);
            if (kinds[k] == GW_OP_KERNEL) {
                doubt_kernels(model, ops, count, model->devices[device].multiprocessors);
            } else {
                order_copies(ops, count);
            }
        }
    }
    free(ops);
    return 0;
}
