/* The conditions of --fail-on, as in 'host-sync>0.5ms' or 'step>5%'. */
#ifndef GW_CLI_FAIL_ON_H
#define GW_CLI_FAIL_ON_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define GW_FAIL_ON_MOST 64

struct gw_fail_condition {
    const char *what; /* borrowed from the option's value */
    double limit;     /* ms, or percent of the step */
    bool percent;
};

struct gw_fail_on {
    struct gw_fail_condition list[GW_FAIL_ON_MOST];
    size_t count;
};

/*
 * Adds the condition `value`, "WHAT>LIMIT", which is cut apart and must live as long as `list`. LIMIT is a number of
 * milliseconds, with ms, us or s after it if wanted, or with % a share of the step; spaces round both are allowed.
 * Whether WHAT is known is for the caller to see. Returns 0, or what an argp parser returns after an error was printed.
 */
error_t gw_take_fail_on(const struct argp_state *state, char *value, struct gw_fail_on *list);

#endif
