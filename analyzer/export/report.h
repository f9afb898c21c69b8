/*
 * The report of a run: for people as text, for programs as JSON (schema gpuwitness.report/1, docs/report.schema.json).
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_H
#define GW_ANALYZER_EXPORT_REPORT_H

#include <stdio.h>

#include "analyzer/verdicts/verdicts.h"

/* What a report is made of; nothing is owned. */
struct gw_report {
    const struct gw_model *model;
    const struct gw_budget *budget;
    const struct gw_verdicts *verdicts;
};

struct gw_report_text_options {
    unsigned width;           /* columns, at least 60 */
    bool color;               /* ANSI colours and block characters */
    bool verbose;             /* all evidence, classes without time, every process */
    const char *only_verdict; /* id: nothing but this verdict; NULL: the whole report */
};

/* Writes the report as text. Returns 0 or a negative errno (-ENOMEM, or that of writing). */
int gw_report_text(const struct gw_report *report, const struct gw_report_text_options *options, FILE *out);

/* Writes what a suspect is, how it is judged and what mends it (from gw_verdict_explain), wrapped to width. Returns 0
 * or -EIO with errno set. */
int gw_explain_text(const char *id, const char *suspect, const char *explanation, const char *fix, unsigned width,
                    FILE *out);

/* Writes the answer as Markdown tables and lists, to be pasted into a bug report. Returns as gw_report_text. */
int gw_report_markdown(const struct gw_report *report, FILE *out);

/* Writes the report as one JSON object and a line break. Returns as gw_report_text. */
int gw_report_json(const struct gw_report *report, FILE *out);

#endif
