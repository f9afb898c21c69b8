/* Options that several verbs share: as parsers to put among the children of a verb's own, and as values of options. */
#ifndef GW_CLI_RUN_OPTIONS_H
#define GW_CLI_RUN_OPTIONS_H

#include <argp.h>

#include "analyzer/cli/write_report.h"
#include "analyzer/model/build.h"

/* How steps are found: --step and --step-every. Its input is the struct gw_model_options to fill; a verb hands it over
 * in child_inputs at ARGP_KEY_INIT. Give it as the member `children` of the verb's parser. */
extern const struct argp_child gw_step_options[];

/* What a report is asked for: which form it has, which records of each rank are read, and gw_step_options. Its input is
 * the struct gw_report_choice to fill. */
extern const struct argp_child gw_report_options[];

struct gw_report_choice {
    struct gw_report_form form;
    struct gw_model_options model;
};

/*
 * The gw_take_ functions read the value of an option. Each returns 0, or what gw_usage_error returns after saying what
 * is wrong; what ret_ names is untouched then.
 */

/* --step: an extended regular expression that is not empty. *ret_regex is text. */
error_t gw_take_step(const struct argp_state *state, const char *text, const char **ret_regex);

/* --rank-size: bytes above 0. */
error_t gw_take_rank_size(const struct argp_state *state, const char *text, uint64_t *ret_bytes);

/* --steps: two numbers A..B, A not above B and B below UINT32_MAX. */
error_t gw_take_steps(const struct argp_state *state, const char *text, uint32_t *ret_first, uint32_t *ret_last);

/* --per: [UNIT=]N[,M], what a step of A and one of B makes; text is changed. *ret_unit lies in text or is static. */
error_t gw_take_per(const struct argp_state *state, char *text, const char **ret_unit, double ret_per[2]);

#endif
