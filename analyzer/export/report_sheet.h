/*
 * The parts of the text report, each in a file of its own, and what they share.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_SHEET_H
#define GW_ANALYZER_EXPORT_REPORT_SHEET_H

#include <string.h>

#include "analyzer/export/report_facts.h"
#include "analyzer/export/report_words.h"

/* A report being printed; nothing is owned. */
struct gw_report_sheet {
    const struct gw_report *report;
    const struct gw_report_text_options *options;
    struct gw_page page;
    struct gw_step_facts steps;
    double ms[GW_CLASS_COUNT], total_ms; /* of the mean step */
};

/* "s", or "" for one. */
static inline const char *gw_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static inline bool gw_sheet_is_simulated(const struct gw_report_sheet *sheet)
{
    const char *kind = sheet->report->model->run.device_kind;
    return kind && strcmp(kind, "simulated") == 0;
}

/* Prints confirmed, unknown and ruled-out verdicts, each under its heading. */
void gw_sheet_verdicts(const struct gw_report_sheet *sheet);

/* Prints nothing but the verdict with options->only_verdict as its id. */
void gw_sheet_one_verdict(const struct gw_report_sheet *sheet);

/* Prints the section on the run: devices, steps, what was seen and what was not, how far the replay holds. */
void gw_sheet_run(const struct gw_report_sheet *sheet);

#endif
