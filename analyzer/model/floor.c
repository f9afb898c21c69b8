#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Copies that a thread of the host takes part in are known to within their call only; each states that itself. */
static bool counts(const struct gw_model *model, const struct gw_op *op, size_t device)
{
    return !(op->flags & GW_OP_UNTIMED) && model->streams[op->stream].device == device &&
           (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM || op->kind == GW_OP_MEMSET || op->kind == GW_OP_GRAPH);
}

int gw_build_floor(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint32_t *errors = malloc((model->ops_count + 1) * sizeof(*errors));
    if (!errors) {
        return -ENOMEM;
    }
    for (size_t d = 0; d < model->devices_count; d++) {
        size_t count = 0;
        for (size_t i = 0; i < model->ops_count; i++) {
            if (counts(model, &model->ops[i], d)) {
                errors[count++] = model->ops[i].error_ns;
            }
        }
        if (count == 0) {
            continue;
        }
        qsort(errors, count, sizeof(*errors), by_value);
        uint64_t floor_ns = errors[count - 1 - count / 100];
        if (floor_ns > model->devices[d].timing_floor_ns) {
            model->devices[d].timing_floor_ns = floor_ns;
        }
    }
    free(errors);
    return 0;
}
