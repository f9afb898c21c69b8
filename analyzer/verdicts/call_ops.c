#include "analyzer/verdicts/call_ops.h"

#include <errno.h>
#include <stdlib.h>

int gw_call_ops_init(struct gw_call_ops *ret_call_ops, const struct gw_model *model)
{
    struct gw_call_ops ops = {calloc(model->calls_count + 2, sizeof *ops.first),
                              calloc(model->ops_count + 1, sizeof *ops.list)};
    if (!ops.first || !ops.list) {
        gw_call_ops_release(&ops);
        return -ENOMEM;
    }
    /* Counted two places on, so that filling the list leaves each call's begin in its own place. */
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].outer_call != GW_NONE)
            ops.first[model->ops[i].outer_call + 2]++;
    }
    for (size_t c = 2; c < model->calls_count + 2; c++)
        ops.first[c] += ops.first[c - 1];
    for (uint32_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].outer_call != GW_NONE)
            ops.list[ops.first[model->ops[i].outer_call + 1]++] = i;
    }
    *ret_call_ops = ops;
    return 0;
}

void gw_call_ops_release(struct gw_call_ops *call_ops)
{
    free(call_ops->first);
    free(call_ops->list);
    *call_ops = (struct gw_call_ops){0};
}
