/*
 * A file that an export writes: buffered, any errno of writing kept, and there under its name only when it is whole.
 */
#ifndef GW_ANALYZER_EXPORT_OUTPUT_H
#define GW_ANALYZER_EXPORT_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

struct gw_output {
    FILE *file;    /* NULL after gw_output_end */
    char *path;    /* where the file will be; owned */
    char *written; /* where it is until then: beside it, or path itself when that is no regular file; owned */
    int status;    /* 0, or the first error; nothing is written after it */
};

/* Begins a file that will replace one of that name. Links are followed; pipes and devices are written at once, and "-"
 * is the standard output. Returns 0 or a negative errno; nothing is to be closed then. */
int gw_output_open(struct gw_output *ret_output, const char *path);

/* Writes the bytes unless an error was met before. */
void gw_output_write(struct gw_output *output, const void *bytes, size_t size);

/* Closes the file, which stays under its other name. Returns 0 or the first error, that of `status` (0 or a negative
 * errno of the caller) included. */
int gw_output_end(struct gw_output *output, int status);

/* With status 0 gives the file its name, else removes it; releases the output. Returns the status, or that of
 * renaming. */
int gw_output_take(struct gw_output *output, int status);

/* The two after each other. */
int gw_output_close(struct gw_output *output, int status);

/* Removes the files of all outputs that were begun and not taken, up to GW_OUTPUTS_REMOVED at a time. For a handler of
 * a signal that ends the process: it calls nothing but unlink. */
#define GW_OUTPUTS_REMOVED 8
void gw_output_remove_unfinished(void);

#endif
