/*
 * The arguments of calls, each kind in an array of the model's. Of those that are alike, as the calls of a loop have
 * them, one is kept. Internal to analyzer/model.
 */
#ifndef GW_ANALYZER_MODEL_DETAILS_H
#define GW_ANALYZER_MODEL_DETAILS_H

#include "analyzer/model/builder.h"

#define GW_DETAILS_SHARED 1024u

/* What was stored last, so that others can share it; zeroed at first. */
struct gw_details {
    uint32_t shared[GW_DETAIL_COLLECTIVE][GW_DETAILS_SHARED]; /* by kind, but collectives, and hash: index */
};

/* Makes room in the model for as many details as there are records of each type. Returns 0 or -ENOMEM. */
int gw_details_reserve(struct gw_model *model, const size_t counts[GW_RECORD_COUNT]);

/* Stores the arguments of a call of the process; returns their index in the array that *ret_kind (enum gw_detail_kind)
 * names, GW_NONE for a call that has none. */
uint32_t gw_details_add(struct gw_details *details, struct gw_builder *builder, uint32_t process,
                        const struct gw_record *record, uint8_t *ret_kind);

#endif
