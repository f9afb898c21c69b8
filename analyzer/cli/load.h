/* What the verbs that read one run have in common. */
#ifndef GW_CLI_LOAD_H
#define GW_CLI_LOAD_H

#include "analyzer/model/build.h"

/* Reads a run or what is in a bundle; all options are used but progress, which is shown on a terminal. Returns the
 * model, which the caller destroys, or NULL after complaining in the name of command. */
struct gw_model *gw_load_model(const char *command, const char *run, const struct gw_model_options *options);

#endif
