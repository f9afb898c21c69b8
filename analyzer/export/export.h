/* Exports of a model into files for other tools. */
#ifndef GW_ANALYZER_EXPORT_EXPORT_H
#define GW_ANALYZER_EXPORT_EXPORT_H

#include "analyzer/model/model.h"
#include "analyzer/verdicts/budget.h"

/*
 * Writes calls.csv, ops.csv, collectives.csv, steps.csv and gaps.csv into the folder, each with a header line,
 * replacing files of those names. `process` is the index of the process, `device` its ordinal there, `stream` its
 * number on the device; times are ns on CLOCK_MONOTONIC, empty when unknown; `graph_node` is empty outside graphs. Host
 * functions in streams are no device operations and are left out of ops.csv.
 *
 * Returns 0, or a negative errno with the file that could not be written in *ret_failed_file (static).
 */
int gw_export_csv(const struct gw_model *model, const struct gw_budget *budget, const char *folder,
                  const char **ret_failed_file);

#endif
