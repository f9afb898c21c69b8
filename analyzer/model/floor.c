#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/sorted.h"

/* Copies that a thread of the host takes part in are known to within their call only; each states that itself. */
static bool counts(const struct gw_op *op)
{
    return !(op->flags & GW_OP_UNTIMED) &&
           (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM || op->kind == GW_OP_MEMSET || op->kind == GW_OP_GRAPH);
}

int gw_build_floor(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint32_t *device_of = malloc((model->ops_count + 1) * sizeof(*device_of)), *ops = NULL, *first = NULL;
    int status = device_of ? 0 : -ENOMEM;
    for (size_t i = 0; i < model->ops_count && !status; i++) {
        const struct gw_op *op = &model->ops[i];
        device_of[i] = counts(op) ? model->streams[op->stream].device : GW_NONE;
    }
    status = status ? status : gw_group(device_of, model->ops_count, model->devices_count, &ops, &first);
    for (size_t d = 0; d < model->devices_count && !status; d++) {
        uint32_t *errors = ops + first[d];
        const size_t count = first[d + 1] - first[d];
        for (size_t i = 0; i < count; i++) {
            errors[i] = model->ops[errors[i]].error_ns;
        }
        if (count == 0) {
            continue;
        }
        struct gw_device *device = &model->devices[d];
        const uint64_t floor_ns = gw_at_place_u32(errors, count, count - 1 - count / 1000);
        device->timing_floor_ns = floor_ns > device->timing_floor_ns ? floor_ns : device->timing_floor_ns;
        device->timing_half_ns = gw_at_place_u32(errors, count, count / 2);
    }
    free(device_of);
    free(ops);
    free(first);
    return status;
}

uint64_t gw_timing_floor(const struct gw_model *model, uint64_t *ret_half_ns)
{
    uint64_t floor_ns = 0, half_ns = 0;
    for (size_t d = 0; d < model->devices_count; d++) {
        const struct gw_device *device = &model->devices[d];
        floor_ns = device->timing_floor_ns > floor_ns ? device->timing_floor_ns : floor_ns;
        half_ns = device->timing_half_ns > half_ns ? device->timing_half_ns : half_ns;
    }
    *ret_half_ns = half_ns;
    return floor_ns;
}
