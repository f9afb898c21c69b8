/* What all verbs share: one-line errors, option parsing, sizes for people. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#define GW_EXIT_OK 0
#define GW_EXIT_FAILURE 1
#define GW_EXIT_USAGE 2

/* Prints "COMMAND: MESSAGE" on stderr; `command` is a verb's argv[0]. */
void gw_complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends what was printed on the standard output. Returns GW_EXIT_OK, or GW_EXIT_FAILURE after printing why it could not
 * be written. */
int gw_end_output(const char *command);

/* Prints "COMMAND: MESSAGE; see COMMAND --help" and returns what an argp parser returns then. */
error_t gw_usage_error(const struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * argp_parse with errors of one line. `flags` are argp's. Returns 0, or GW_EXIT_USAGE after printing what is wrong;
 * --help exits.
 */
int gw_parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Of the `count` words the one most like `word`, or NULL when none is close. */
const char *gw_nearest(const char *word, const char *const *words, size_t count);

/* Reads a number with an optional K, M or G (powers of 1024) after it. Returns 0 or -EINVAL. */
int gw_parse_size(const char *text, uint64_t *ret_bytes);

/* Reads a time: a number, which may have a fraction, and ms, s, min or h after it. Returns 0 or -EINVAL. */
int gw_parse_time(const char *text, int64_t *ret_ns);

/* Writes `bytes` as "12.3 MB" and returns `ret_text`. */
const char *gw_format_size(uint64_t bytes, char ret_text[32]);

#endif
