/*
 * Takes what identifies people and machines out of a model, so that what is made of it can be shown to others: user,
 * host, folders, arguments, values of variables that are not known to be harmless, serial numbers of GPUs. The same
 * text always becomes the same placeholder. Names of kernels, files and threads stay.
 */
#ifndef GW_ANALYZER_EXPORT_REDACT_H
#define GW_ANALYZER_EXPORT_REDACT_H

#include "analyzer/model/model.h"

/* One replacement; texts are owned by the redactor. */
struct gw_redaction {
    char *secret, *placeholder;
    bool everywhere; /* wherever the text stands as a word, not only in the field it was found in */
};

struct gw_redactor {
    GW_ARRAY(struct gw_redaction, list);
    unsigned counts[6]; /* by kind, for the numbers of placeholders */
};

/* Replaces the strings of the model and keeps what was replaced in *ret_redactor, which is released with
 * gw_redactor_release in any case. Returns 0 or -ENOMEM; the model must not be shown then. */
int gw_redact_model(struct gw_model *model, struct gw_redactor *ret_redactor);

/* The text without what is known to be private: words replaced elsewhere, and folders of absolute paths outside the
 * system's own. Bytes that are no UTF-8 read
 * '?'. The caller frees. NULL: no memory. */
char *gw_redact_text(struct gw_redactor *redactor, const char *text);

void gw_redactor_release(struct gw_redactor *redactor);

#endif
