/*
 * What a recording saw of the ways to CUDA: by which road each API was reached, from which libraries, what is part of
 * the program's own file, and what is known to be missing.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_SEEN_H
#define GW_ANALYZER_EXPORT_REPORT_SEEN_H

#include <jansson.h>

#include "analyzer/export/report_words.h"
#include "analyzer/model/model.h"

/* The same as JSON: routes, libraries, linked_in, missed_calls, disabled, processes. NULL when there is no memory. */
json_t *gw_seen_json(const struct gw_model *model);

/* One line on the page, where anything is known (not of imported traces), one for each kind of missing calls, and
 * one that says why a snapshot was taken. */
void gw_seen_text(const struct gw_model *model, const struct gw_page *page, unsigned indent);

#endif
