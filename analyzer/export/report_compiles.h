/*
 * What a report says of compilation: loads, PTX compiled by the driver, links, look-ups, compilers that were executed;
 * in warm-up and after it.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_COMPILES_H
#define GW_ANALYZER_EXPORT_REPORT_COMPILES_H

#include <jansson.h>

#include "analyzer/export/report.h"
#include "analyzer/export/report_words.h"

/* The section of the text, nothing where nothing was loaded; verbose: each one of the steady phase. Returns 0 or
 * -ENOMEM. */
int gw_report_compiles_text(const struct gw_report *report, bool verbose, const struct gw_page *page);

/* The section of the Markdown, likewise. */
int gw_report_compiles_markdown(const struct gw_report *report, FILE *out);

/* The value of "compilation". NULL: no memory. */
json_t *gw_compiles_json(const struct gw_report *report);

#endif
