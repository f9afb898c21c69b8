/*
 * The same stretch of work on all ranks, and a run in which none takes longer for it than the median one.
 */
#ifndef GW_ANALYZER_VERDICTS_RANK_PARTS_H
#define GW_ANALYZER_VERDICTS_RANK_PARTS_H

#include "analyzer/verdicts/comm.h"

/* An exchange tells of lateness from so many ranks on. */
#define GW_RANKS_LEAST 2u

/* What a device and its lane did from one collective to the next: ranks do the same there, whatever their steps. */
struct gw_rank_part {
    uint32_t match, device, step;  /* the exchange that ends it */
    bool is_first;                 /* begins with the first analysed step, not with a collective */
    size_t op_first, op_count;     /* into gw_comm.device_ops */
    size_t node_first, node_count; /* into gw_replay.lane_nodes */
};

/* Whether the kernel is a collective of which all arrivals are known. */
bool gw_is_collective(const struct gw_comm_kernel *kernel);

/* A part for each collective of a device, sorted by exchange; *ret_count: how many. NULL: no memory. The caller frees;
 * judge->replay must be there. */
struct gw_rank_part *gw_rank_parts(const struct gw_judge *judge, size_t *ret_count);

/* Makes no rank take longer for a part than the median one in the plan, whose nodes it sets; *ret_balanced: parts that
 * could be compared. Returns 0 or -ENOMEM. */
int gw_rank_parts_balance(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_rank_part *parts,
                          size_t count, size_t *ret_balanced);

#endif
