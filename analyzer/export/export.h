/* Exports of a model into files for other tools. */
#ifndef GW_ANALYZER_EXPORT_EXPORT_H
#define GW_ANALYZER_EXPORT_EXPORT_H

#include "analyzer/model/model.h"
#include "analyzer/verdicts/budget.h"

/*
 * Writes calls.csv, counted.csv, ops.csv, collectives.csv, steps.csv, gaps.csv and compiles.csv into the folder, each with a header line,
 * replacing files of those names. `process` is the index of the process, `device` its ordinal there, `stream` its
 * number on the device; times are ns on CLOCK_MONOTONIC, empty when unknown; `graph_node` is empty outside graphs. Host
 * functions in streams are no device operations and are left out of ops.csv.
 *
 * Returns 0, or a negative errno with the file that could not be written in *ret_failed_file (static); the files that
 * were there before are as they were then.
 */
int gw_export_csv(const struct gw_model *model, const struct gw_budget *budget, const char *folder,
                  const char **ret_failed_file);

/*
 * Each of the following writes one file, replacing one of that name, in bounded memory beyond the model: 16 bytes a
 * name and what the names demangle to. Operations without times are left out, except in JSON Lines; so are host
 * functions. Returns 0, -ENOMEM, or the negative errno of writing; a regular file that was there before is as it was
 * then.
 */
typedef int gw_export_file(const struct gw_model *model, const struct gw_budget *budget, const char *path);

/* Perfetto's protobuf format: tracks of threads, steps, devices, streams and idle time, flows from calls to what they
 * enqueued. */
gw_export_file gw_export_perfetto;

/* Chrome JSON in the shape of the PyTorch profiler. Idle time is not in it. */
gw_export_file gw_export_chrome;

/* SQLite with the tables of an Nsight Systems export. */
gw_export_file gw_export_sqlite;

/* JSON Lines, schema gpuwitness.jsonl/1: an object a line with "type" run, process, thread, device, call, op, range,
 * collective, step, budget or gap, fields as in the CSV files. */
gw_export_file gw_export_jsonl;

#endif
