/*
 * Which operations each outermost call enqueued.
 *
 * Memory: 4 bytes for every 32 calls; 5 an operation where the operations do not stand in the order of outermost calls,
 * as those of several threads that enqueue at the same time.
 */
#ifndef GW_ANALYZER_VERDICTS_CALL_OPS_H
#define GW_ANALYZER_VERDICTS_CALL_OPS_H

#include "analyzer/model/model.h"

struct gw_call_ops {
    const struct gw_op *ops; /* the model's */
    uint32_t *list; /* indices into them, by outermost call, then in order of enqueue; NULL: they stand in this order */
    uint8_t *places; /* likewise: the call's number modulo 32 */
    uint32_t *first; /* the operations of calls 32 × g … 32 × g + 31 are list[first[g]] … list[first[g + 1] - 1] */
};

/* Some operations: list[first] … list[end - 1]. */
struct gw_op_range {
    uint32_t first, end;
};

/* Index into the model's operations of one of such a range. */
static inline uint32_t gw_call_ops_op(const struct gw_call_ops *call_ops, uint32_t place)
{
    return call_ops->list ? call_ops->list[place] : place;
}

/* What the call enqueued. */
struct gw_op_range gw_call_ops_of(const struct gw_call_ops *call_ops, uint32_t call);

/* How far into the operations of its group of 32 calls those of the call begin, to find them again: at most
 * GW_CALL_OPS_FAR, which says no more than that. */
#define GW_CALL_OPS_FAR UINT8_MAX
uint8_t gw_call_ops_place(const struct gw_call_ops *call_ops, uint32_t call);

/* As gw_call_ops_of, with what gw_call_ops_place gave for the call. */
struct gw_op_range gw_call_ops_from(const struct gw_call_ops *call_ops, uint32_t call, uint8_t place);

/* Returns 0 or -ENOMEM. Release takes half-built ones too. */
int gw_call_ops_init(struct gw_call_ops *ret_call_ops, const struct gw_model *model);
void gw_call_ops_release(struct gw_call_ops *call_ops);

#endif
