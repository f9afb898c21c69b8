/*
 * The one file an export writes: buffered, any errno of writing kept. Internal to analyzer/export.
 */
#ifndef GW_ANALYZER_EXPORT_OUTPUT_H
#define GW_ANALYZER_EXPORT_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

struct gw_output {
    FILE *file;
    const char *path; /* borrowed */
    int status;       /* 0, or the first error; nothing is written after it */
};

/* Opens path, replacing a file of that name. Returns 0 or a negative errno; nothing is to be closed then. */
int gw_output_open(struct gw_output *ret_output, const char *path);

/* Writes the bytes unless an error was met before. */
void gw_output_write(struct gw_output *output, const void *bytes, size_t size);

/* Closes the file and returns 0 or the first error, that of `status` (0 or a negative errno of the caller) included. A
 * regular file that is not whole is removed. */
int gw_output_close(struct gw_output *output, int status);

/* Removes path if it is a regular file. */
void gw_output_remove(const char *path);

#endif
