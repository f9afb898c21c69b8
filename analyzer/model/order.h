/*
 * Whether units of a sequence repeat in their order too. Long units of any program hold much the same operations, as
 * handfuls from one bag do; what tells a loop from chance is that they follow each other in the same way.
 */
#ifndef GW_ANALYZER_MODEL_ORDER_H
#define GW_ANALYZER_MODEL_ORDER_H

#include "analyzer/model/sequence.h"

/* How much more alike neighbouring units are in what follows what on each stream than they would be if one of them were
 * shuffled: 0 as alike as by chance, 1 the same order. 1 as well when a shuffle changes next to nothing, as in a loop
 * of one kernel. `positions` are the begins of `count` units, the last of which only ends the one before. Returns 0 or
 * -ENOMEM. */
int gw_order_share(const struct gw_sequence *sequence, const size_t *positions, size_t count, double *ret_share);

#endif
