/*
 * Takes what identifies people and machines out of a model, so that what is made of it can be shown to others: user,
 * host, folders, arguments, values of variables that are not known to be harmless, serial numbers of GPUs. The same
 * text always becomes the same placeholder. Names of kernels, files and threads stay.
 */
#ifndef GW_ANALYZER_EXPORT_REDACT_H
#define GW_ANALYZER_EXPORT_REDACT_H

#include "analyzer/model/model.h"

/* What a text is, which decides what of it may stay. */
enum gw_private {
    GW_PRIVATE_TEXT = 0,  /* anything: words known to be private and folders go */
    GW_PRIVATE_NAME,      /* of a kernel, a thread or a range: as a text, or hashed as a whole */
    GW_PRIVATE_PROGRAM,   /* path of a program: its folder goes */
    GW_PRIVATE_ARGUMENT,  /* of a command line */
    GW_PRIVATE_COMMAND,   /* a command line as one text, in which arguments cannot be told apart */
    GW_PRIVATE_HOST,      /* name of a machine */
    GW_PRIVATE_LINES,     /* NAME=VALUE lines of an environment */
    GW_PRIVATE_VARIABLES, /* a JSON object with the same */
    GW_PRIVATE_SERIAL     /* number that one device has */
};

/* One replacement; texts are owned by the redactor. */
struct gw_redaction {
    char *secret, *placeholder;
    bool everywhere; /* wherever the text stands as a word, not only in the field it was found in */
};

struct gw_redactor {
    GW_ARRAY(struct gw_redaction, list);
    GW_ARRAY(struct gw_redaction, hashed); /* names of the model that became hashes */
    unsigned counts[6];                    /* by kind, for the numbers of placeholders */
    bool hash_names; /* names of kernels, threads, ranges, and files outside the system's folders become hashes */
};

/* Replaces the strings of the model and notes what was replaced in the redactor, all zero at first but for hash_names;
 * it is released with gw_redactor_release in any case. Returns 0 or -ENOMEM; the model must not be shown then. */
int gw_redact_model(struct gw_model *model, struct gw_redactor *redactor);

/* Replaces the owned string *field, NULL allowed, by what may be shown of it. Returns 0 or -ENOMEM. */
int gw_redact_field(struct gw_redactor *redactor, enum gw_private what, char **field);

/* The text without what is known to be private: words replaced elsewhere, and folders of absolute paths outside the
 * system's own. Bytes that are no UTF-8 read
 * '?'. The caller frees. NULL: no memory. */
char *gw_redact_text(struct gw_redactor *redactor, const char *text);

void gw_redactor_release(struct gw_redactor *redactor);

#endif
