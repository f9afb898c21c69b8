#include "analyzer/verdicts/call_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"

#define GROUP_BITS 5
#define PLACE_MASK ((1u << GROUP_BITS) - 1)

/* Sorts the operations of each group of calls by call. They are nearly in order. */
static void sort_groups(struct gw_call_ops *ops, size_t groups)
{
    for (size_t g = 0; g < groups; g++) {
        for (uint32_t i = ops->first[g] + 1; i < ops->first[g + 1]; i++) {
            uint32_t op = ops->list[i], at = i;
            uint8_t place = ops->places[i];
            for (; at > ops->first[g] && ops->places[at - 1] > place; at--) {
                ops->list[at] = ops->list[at - 1];
                ops->places[at] = ops->places[at - 1];
            }
            ops->list[at] = op;
            ops->places[at] = place;
        }
    }
}

int gw_call_ops_init(struct gw_call_ops *ret_call_ops, const struct gw_model *model)
{
    const size_t groups = (model->calls_count >> GROUP_BITS) + 1;
    struct gw_call_ops ops = {.ops = model->ops, .first = calloc(groups + 2, sizeof *ops.first)};
    bool in_order = true;
    if (!ops.first)
        return -ENOMEM;
    /* Counted two places on, so that filling the list leaves each group's begin in its own place. */
    for (size_t i = 0; i < model->ops_count; i++) {
        const uint32_t call = model->ops[i].outer_call;
        if (call != GW_NONE)
            ops.first[(call >> GROUP_BITS) + 2]++;
        in_order &= call != GW_NONE && (i == 0 || model->ops[i - 1].outer_call <= call);
    }
    for (size_t g = 2; g < groups + 2; g++)
        ops.first[g] += ops.first[g - 1];
    if (in_order) {
        memmove(ops.first, ops.first + 1, (groups + 1) * sizeof *ops.first);
        *ret_call_ops = ops;
        return 0;
    }
    ops.list = calloc(model->ops_count + 1, sizeof *ops.list);
    ops.places = calloc(model->ops_count + 1, sizeof *ops.places);
    if (!ops.list || !ops.places) {
        gw_call_ops_release(&ops);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < model->ops_count; i++) {
        uint32_t call = model->ops[i].outer_call;
        if (call == GW_NONE)
            continue;
        uint32_t *at = &ops.first[(call >> GROUP_BITS) + 1];
        ops.list[*at] = i;
        ops.places[(*at)++] = call & PLACE_MASK;
    }
    sort_groups(&ops, groups);
    *ret_call_ops = ops;
    return 0;
}

static uint32_t place_of(const struct gw_call_ops *call_ops, uint32_t at)
{
    return call_ops->places ? call_ops->places[at] : call_ops->ops[at].outer_call & PLACE_MASK;
}

/* The first in list[low] … list[high - 1] of the call at a place in its group, or of a later one. */
static uint32_t first_from(const struct gw_call_ops *call_ops, uint32_t low, uint32_t high, uint32_t place)
{
    return (uint32_t)GW_FIRST_NOT(low, high, i, place_of(call_ops, (uint32_t)i) < place);
}

struct gw_op_range gw_call_ops_of(const struct gw_call_ops *call_ops, uint32_t call)
{
    const uint32_t *group = &call_ops->first[call >> GROUP_BITS], place = call & PLACE_MASK;
    const uint32_t first = first_from(call_ops, group[0], group[1], place);
    return (struct gw_op_range){first, first_from(call_ops, first, group[1], place + 1)};
}

uint8_t gw_call_ops_place(const struct gw_call_ops *call_ops, uint32_t call)
{
    const uint32_t place = gw_call_ops_of(call_ops, call).first - call_ops->first[call >> GROUP_BITS];
    return place < GW_CALL_OPS_FAR ? (uint8_t)place : GW_CALL_OPS_FAR;
}

struct gw_op_range gw_call_ops_from(const struct gw_call_ops *call_ops, uint32_t call, uint8_t place)
{
    if (place == GW_CALL_OPS_FAR)
        return gw_call_ops_of(call_ops, call);
    const uint32_t *group = &call_ops->first[call >> GROUP_BITS], first = group[0] + place;
    uint32_t end = first;
    while (end < group[1] && place_of(call_ops, end) == (call & PLACE_MASK))
        end++;
    return (struct gw_op_range){first, end};
}

void gw_call_ops_release(struct gw_call_ops *call_ops)
{
    free(call_ops->first);
    free(call_ops->list);
    free(call_ops->places);
    *call_ops = (struct gw_call_ops){0};
}
