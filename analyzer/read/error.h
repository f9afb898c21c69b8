/*
 * One line for a person about what went wrong, filled by the function that failed. Library code never prints it; the
 * command line does.
 */
#ifndef GW_ANALYZER_READ_ERROR_H
#define GW_ANALYZER_READ_ERROR_H

struct gw_error {
    char text[512];
};

/* Writes the formatted line into *error (cut to its size; line breaks become spaces) and returns status, so that a
 * failing function can end with `status = gw_error_set(error, -EINVAL, …)`. error may be NULL. */
int gw_error_set(struct gw_error *error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
