/* The report of a model in the form that was asked for: what report and merge share. */
#ifndef GW_CLI_WRITE_REPORT_H
#define GW_CLI_WRITE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/export/report.h"

struct gw_report_form {
    bool json, markdown, verbose; /* neither of the first two: text */
    const char *verdict;          /* text: nothing but this one; NULL: all */
};

struct gw_judged {
    struct gw_budget *budget;
    struct gw_verdicts *verdicts;
};

/* Makes budget and verdicts; the caller releases them. Returns 0, or -ENOMEM after complaining in the name of command.
 */
int gw_judge_run(const char *command, const struct gw_model *model, struct gw_judged *ret_judged);
void gw_judged_release(struct gw_judged *judged);

/* Columns of a page on the stream: of its terminal, within what can be read; 90 elsewhere. */
unsigned gw_page_width(FILE *out);

/* Returns 0, or a negative errno after complaining. */
int gw_write_report(const char *command, const struct gw_report_form *form, const struct gw_model *model,
                    const struct gw_judged *judged, FILE *out);

#endif
