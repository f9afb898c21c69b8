/*
 * When all ranks had arrived in what a communication kernel carries out.
 */
#ifndef GW_ANALYZER_VERDICTS_ARRIVALS_H
#define GW_ANALYZER_VERDICTS_ARRIVALS_H

#include "analyzer/model/model.h"

/* By operation of the model: the latest arrival in any of the collectives and messages it carries out, never before its
 * own start; GW_TIME_UNKNOWN where it carries out none, or some rank of one is not in the run. *ret_arrived_ns is NULL
 * when the model has none at all; the caller frees it. Returns 0 or -ENOMEM. */
int gw_arrivals_create(const struct gw_model *model, uint64_t **ret_arrived_ns);

#endif
