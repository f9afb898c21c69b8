/* What the verbs that read one run have in common. */
#ifndef GW_CLI_LOAD_H
#define GW_CLI_LOAD_H

#include <argp.h>

#include "analyzer/model/build.h"

/* Reads a run or what is in a bundle, with progress on a terminal. step_regex and step_every as in gw_model_options.
 * Returns the model, which the caller destroys, or NULL after complaining in the name of command. */
struct gw_model *gw_load_model(const char *command, const char *run, const char *step_regex, uint32_t step_every);

/* The same with all options but progress, which is this function's. */
struct gw_model *gw_load_model_as(const char *command, const char *run, const struct gw_model_options *options);

/* The value of --rank-size. Returns 0 or what gw_usage_error returns. */
error_t gw_take_rank_size(const struct argp_state *state, const char *text, uint64_t *ret_bytes);

/* The value of --step-every. Returns 0 or what gw_usage_error returns. */
error_t gw_take_step_every(const struct argp_state *state, const char *text, uint32_t *ret_every);

/* The value of --steps: two numbers A..B, A not above B and B below UINT32_MAX. Returns likewise. */
error_t gw_take_steps(const struct argp_state *state, const char *text, uint32_t *ret_first, uint32_t *ret_last);

/* The value of --per, [UNIT=]N[,M], which is changed: what a step of A and one of B makes. *ret_unit lies in text or is
 * static. Returns likewise. */
error_t gw_take_per(const struct argp_state *state, char *text, const char **ret_unit, double ret_per[2]);

#endif
