/*
 * Which operations each outermost call enqueued.
 */
#ifndef GW_ANALYZER_VERDICTS_CALL_OPS_H
#define GW_ANALYZER_VERDICTS_CALL_OPS_H

#include "analyzer/model/model.h"

struct gw_call_ops {
    uint32_t *first; /* the operations of call c are list[first[c]] … list[first[c + 1] - 1], in order of enqueue */
    uint32_t *list;  /* indices into model->ops */
};

/* Returns 0 or -ENOMEM. Release takes half-built ones too. */
int gw_call_ops_init(struct gw_call_ops *ret_call_ops, const struct gw_model *model);
void gw_call_ops_release(struct gw_call_ops *call_ops);

#endif
