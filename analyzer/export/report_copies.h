/*
 * What a report says of copies: of each kind how many, how fast, how much of them nothing hides, what goes over again.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_COPIES_H
#define GW_ANALYZER_EXPORT_REPORT_COPIES_H

#include <jansson.h>

#include "analyzer/export/report.h"
#include "analyzer/export/report_words.h"
#include "analyzer/model/copies.h"

/* Copies of one group over all devices: a step of a device on average, or in all where there are no steps. */
struct gw_copy_means {
    double copies, bytes, ms, exposed_ms;
    double gbps;                   /* of all bytes with times, 0: none has */
    double same_bytes, back_bytes; /* see enum gw_repeat_kind */
    struct gw_copy_sum sum;        /* over all devices and steps */
    uint32_t worst;                /* place of the device with most exposed time, GW_NONE where none has any */
};

/* Stores the means of a group of copies (or memsets). */
void gw_copy_means(const struct gw_copies *copies, enum gw_copy_group group, struct gw_copy_means *ret_means);

/* The section of the text; nothing without copies. */
void gw_report_copies_text(const struct gw_report *report, const struct gw_page *page);

/* The section of the Markdown, likewise. */
void gw_report_copies_markdown(const struct gw_report *report, FILE *out);

/* The value of "copies". NULL: no memory. */
json_t *gw_copies_json(const struct gw_report *report);

#endif
