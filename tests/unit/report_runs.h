/*
 * Scripted runs for tests of the report.
 */
#ifndef GW_TESTS_UNIT_REPORT_RUNS_H
#define GW_TESTS_UNIT_REPORT_RUNS_H

#include "analyzer/export/report.h"

/* A run with its analysis; release it with report_run_release. */
struct report_run {
    struct gw_model *model;
    struct gw_budget *budget;
    struct gw_verdicts *verdicts;
};

/* "faulty": a scalar read in each step; "healthy"; "stepless": calls, no steps; "evaluating": faulty, and
 * something else between two steps; "two-phases": faulty, and as much other work behind the last step; "failing": calls
 * that all fail; "untimed": faulty, without the GPU's times; "overrun", "damaged": the same, where what is missing was
 * lost; "empty": a program without CUDA. Returns false for another name or when memory is out. */
bool report_run_create(struct report_run *ret_run, const char *name);
void report_run_release(struct report_run *run);

#endif
